#include "measure/chain/profile.h"

#include <openssl/objects.h>

#include "measure/chain/mint.h"

namespace pqedge::measure {
namespace {

const ProfileExtensions kRoot = {
    {NID_basic_constraints, "critical,CA:TRUE"},
    {NID_key_usage, "critical,keyCertSign,cRLSign"},
    {NID_subject_key_identifier, "hash"},
};

// Names have the lengths of the reference chains (Q-Advantage, layer-b/certs), for every algorithm
// alike: 18 characters for the root, 26 for the intermediate, 12 for the leaf.
Profile minimal() {
  Profile p;
  p.description =
      "root CN=pqcost root CA 001; intermediate CN=pqcost intermediate CA 001 with basic "
      "constraints, key usage, both key identifiers; leaf CN=leaf.example with basic constraints, "
      "key usage, server authentication, one name, both key identifiers; serial numbers of 20 "
      "bytes";
  p.server_name = "leaf.example";
  p.root_name = {{"CN", "pqcost root CA 001"}};
  p.intermediate_name = {{"CN", "pqcost intermediate CA 001"}};
  p.leaf_name = {{"CN", "leaf.example"}};
  p.client_name = {{"CN", "user.example"}};
  p.root_extensions = kRoot;
  p.intermediate_extensions = {
      {NID_basic_constraints, "critical,CA:TRUE,pathlen:0"},
      {NID_key_usage, "critical,keyCertSign,cRLSign"},
      {NID_subject_key_identifier, "hash"},
      {NID_authority_key_identifier, "keyid:always"},
  };
  p.leaf_extensions = {
      {NID_basic_constraints, "critical,CA:FALSE"}, {NID_key_usage, "critical,digitalSignature"},
      {NID_subject_alt_name, "DNS:leaf.example"},   {NID_ext_key_usage, "serverAuth"},
      {NID_subject_key_identifier, "hash"},         {NID_authority_key_identifier, "keyid:always"},
  };
  p.client_extensions = {
      {NID_basic_constraints, "critical,CA:FALSE"}, {NID_key_usage, "critical,digitalSignature"},
      {NID_subject_alt_name, "DNS:user.example"},   {NID_ext_key_usage, "clientAuth"},
      {NID_subject_key_identifier, "hash"},         {NID_authority_key_identifier, "keyid:always"},
  };
  return p;
}

Profile web() {
  Profile p;
  p.description =
      "root C=US, O=Example Trust Services Group, CN=Example Root X1; intermediate C=US, O=Example "
      "Trust Services, CN=Example TLS E7 with basic constraints, key usage, extended key usage, "
      "both "
      "key identifiers, issuer address, CRL address, policy; leaf CN=www.shop.example.com with "
      "basic "
      "constraints, key usage, server authentication, two names, both key identifiers, issuer "
      "address, CRL address, domain-validated policy; serial numbers of 20 bytes";
  p.server_name = "www.shop.example.com";
  p.root_name = {{"C", "US"}, {"O", "Example Trust Services Group"}, {"CN", "Example Root X1"}};
  p.intermediate_name = {{"C", "US"}, {"O", "Example Trust Services"}, {"CN", "Example TLS E7"}};
  p.leaf_name = {{"CN", "www.shop.example.com"}};
  p.client_name = {{"O", "Example Customer"}, {"CN", "client-0001.customer.example.com"}};
  p.root_extensions = kRoot;
  p.intermediate_extensions = {
      {NID_key_usage, "critical,digitalSignature,keyCertSign,cRLSign"},
      {NID_ext_key_usage, "clientAuth,serverAuth"},
      {NID_basic_constraints, "critical,CA:TRUE,pathlen:0"},
      {NID_subject_key_identifier, "hash"},
      {NID_authority_key_identifier, "keyid:always"},
      {NID_info_access, "caIssuers;URI:http://x1.i.trust.example.net/"},
      {NID_certificate_policies, "2.23.140.1.2.1"},
      {NID_crl_distribution_points, "URI:http://x1.c.trust.example.net/"},
  };
  p.leaf_extensions = {
      {NID_key_usage, "critical,digitalSignature"},
      {NID_ext_key_usage, "serverAuth"},
      {NID_basic_constraints, "critical,CA:FALSE"},
      {NID_subject_key_identifier, "hash"},
      {NID_authority_key_identifier, "keyid:always"},
      {NID_info_access, "caIssuers;URI:http://e7.i.trust.example.net/"},
      {NID_subject_alt_name, "DNS:www.shop.example.com,DNS:shop.example.com"},
      {NID_certificate_policies, "2.23.140.1.2.1"},
      {NID_crl_distribution_points, "URI:http://e7.c.trust.example.net/117.crl"},
  };
  p.client_extensions = {
      {NID_key_usage, "critical,digitalSignature"},
      {NID_ext_key_usage, "clientAuth"},
      {NID_basic_constraints, "critical,CA:FALSE"},
      {NID_subject_key_identifier, "hash"},
      {NID_authority_key_identifier, "keyid:always"},
      {NID_subject_alt_name, "DNS:client-0001.customer.example.com"},
  };
  return p;
}

}  // namespace

const Profile& profile_of(ChainProfile profile) {
  static const Profile kMinimal = minimal();
  static const Profile kWeb = web();
  return profile == ChainProfile::web ? kWeb : kMinimal;
}

std::string describe_profile(ChainProfile profile) { return profile_of(profile).description; }

const char* server_name_of(ChainProfile profile) { return profile_of(profile).server_name; }

}  // namespace pqedge::measure
