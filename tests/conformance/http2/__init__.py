"""Cases of RFC 9113 and RFC 7541, each in raw frames: docs/internals/http2-conformance.md."""
