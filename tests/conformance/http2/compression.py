"""RFC 7541: what cannot be decoded ends the connection (RFC 9113 4.3)."""

from http2.case import *  # noqa: F403

hpack = Suite("hpack")
undecodable = broken(COMPRESSION_ERROR)


def ending(part):
    """A request whose block ends with `part`."""
    return lambda c: headers(1, c.fields() + part)


# "x-test" and a value in a form of one's own.
NAME = b"\x00" + string("x-test")

hpack("RFC 7541 2.3.3", "an index beyond both tables", ending(indexed(70)), undecodable)
hpack("RFC 7541 2.3.3", "a name's index beyond both tables", ending(literal(70, "empty", "add")), undecodable)
hpack("RFC 7541 4.2", "a size update at the end of a block", ending(size_update(1)), undecodable)
# "b" is 100011 of 6 bits: 10001111 ends with two bits of padding.
hpack("RFC 7541 5.2", "Huffman padding of more than 7 bits", ending(NAME + b"\x82\x8f\xff"), undecodable)
hpack("RFC 7541 5.2", "Huffman padding of zeros", ending(NAME + b"\x81\x8c"), undecodable)
hpack("RFC 7541 5.2", "Huffman with EOS", ending(NAME + b"\x85\x8f\xff\xff\xff\xff"), undecodable)
hpack("RFC 7541 6.1", "an index of 0", ending(indexed(0)), undecodable)
hpack("RFC 7541 6.3", "a size update above SETTINGS_HEADER_TABLE_SIZE",
      lambda c: headers(1, size_update(4097) + c.fields()), undecodable)
