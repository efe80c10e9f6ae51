"""QUIC and HTTP/3 byte by byte, for the tests of conformance: what a library would never send."""
