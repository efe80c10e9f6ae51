// The seam between codecs and the exchange. A codec turns bytes into these calls and these calls
// into bytes; who is on the other side of a call is not its business.
//
//   client ==bytes==> [server codec] ==ServerStreamHandler==> [exchange]
//   client <==bytes== [server codec] <==ServerStream========= [exchange]
//                                       [exchange] ==ClientStream==========> [client codec] ==>
//                                       backend [exchange] <==ClientStreamHandler== [client codec]
//                                       <== backend
//
// Rules that hold for every codec:
//  - All calls are on the worker's thread. A call never blocks.
//  - Order toward a handler: head, body*, (trailers)?, end; on_reset may come at any time before
//    both directions are finished and is the last call ever made to that handler.
//  - Body flow control is by credit: a codec hands over at most the window (Limits::body_window)
//    of bytes beyond what consumed() gave back.
//  - Sending never refuses bytes: the sender looks at backlog() and stops at its own high-water
//    mark until on_writable().
//  - A stream object belongs to its codec and lives until both directions are finished or reset
//    (by either side); after `on_finished`/`on_reset`, or a call of reset(), it must not be
//    touched.
//
// Tunnels (WebSocket, CONNECT). A request may ask for one: Request::upgrade, or the method CONNECT.
// It is one from the head of the answer on that has Response::tunnel, on each side by itself:
//  - From the backend: on_response_head(false) with response().tunnel. From then on
//    send_request_body() takes bytes that go as they are, although the request had no body and
//    send_request_head() was told its end; send_request_end() ends that direction alone.
//    on_response_body() brings what the backend sends; on_response_end() says that it ended its own
//    direction, and the other goes on.
//  - Toward the client: send_head() with Response::tunnel and `end` false; the status is 101 for
//    Request::upgrade in HTTP/1.1, which the codec gives its Connection and Upgrade fields, else
//    2xx. From then on on_body() brings what the client sends, although on_head() was told the end
//    of the request (HTTP/1.1), and on_end() says that it ended its direction: in HTTP/1.1 by a
//    FIN, in HTTP/2 and 3 by END_STREAM or FIN. In HTTP/2 and 3 bytes may come before the answer
//    does. send_body() and send_end() (without trailers) are the other direction.
//  - Credit, backlog() and on_writable() work as for bodies. The codecs' limits and clocks of
//  bodies
//    do not hold, but for that of a peer that takes nothing: how long a tunnel may be silent is its
//    owner's to say.
//  - The stream is gone when both directions have ended (on_finished; on the backend's side the
//  later
//    of on_response_end() and send_request_end()), or by a reset, which both sides can see: a
//    connection that is reset in HTTP/1.1, else RST_STREAM or RESET_STREAM. A connection of
//    HTTP/1.1 that was a tunnel is closed after it.
//  - An answer without Response::tunnel is an ordinary one: nothing was tunnelled.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/chunk.h"
#include "http/message.h"
#include "net/facts.h"

namespace pqedge::http {

// Why a stream ended early. Mapped to RST_STREAM / RESET_STREAM codes and connection closes.
enum class Abort : uint8_t {
  none,
  cancelled,        // the peer gave up (RST_STREAM CANCEL, a closed connection)
  connection_lost,  // the transport broke or timed out
  protocol_error,   // the peer broke the protocol
  refused,          // surely not processed: GOAWAY above, REFUSED_STREAM, no byte taken
  timed_out,
  too_large,
  internal_error,  // ours; toward a client: the answer cannot be completed (a dead backend)
  flood            // the connection's budget is spent (ENHANCE_YOUR_CALM, H3_EXCESSIVE_LOAD)
};
std::string_view abort_name(Abort why);

// ---- toward clients ----------------------------------------------------------------------------

// The exchange's side of one request. Implemented by edge.
class ServerStreamHandler {
 public:
  // Where the codec puts the head (and later the trailers): fields are stored in request().arena.
  virtual Request& request() = 0;

  // The head is complete and passes the codec's own checks. `end`: no body, no trailers follow.
  virtual void on_head(bool end) = 0;
  // Some of the body. Give each byte back with ServerStream::consumed() once it was passed on.
  virtual void on_body(Slice bytes) = 0;
  // The request is complete; request().trailers holds what came after the body.
  virtual void on_end() = 0;

  // The codec refuses the request before, or while, it is read (400, 408, 413, 414, 431, 501...).
  // The handler answers with that status through the ServerStream as usual. `reason` is a static
  // text for the log. For HTTP/1.1 the codec closes the connection after the answer when it can no
  // longer keep in step. request() holds what had been read (perhaps nothing). Nothing more of the
  // request comes after it.
  virtual void on_bad_request(uint16_t status, std::string_view reason) = 0;

  // backlog() fell to or below the low-water mark after having been above it.
  virtual void on_writable() = 0;
  // The stream is gone: do not touch the ServerStream again.
  virtual void on_reset(Abort why) = 0;
  // The response went out whole (given to the kernel, or acknowledged with QUIC) and the request
  // was read to its end. The stream is gone.
  virtual void on_finished() = 0;

 protected:
  ~ServerStreamHandler() = default;
};

// The codec's side of one request.
class ServerStream {
 public:
  // A 1xx other than 101. May come several times, before the head.
  virtual void send_informational(const Response& response) = 0;

  // `response` is ready for the wire but for framing: the codec adds what its version needs
  // (Transfer-Encoding or Content-Length from response.body, Connection, pseudo-header fields,
  // lower case) and leaves out what it must not carry. `end`: nothing follows (HEAD, 204, 304,
  // an empty body). With body == length exactly content_length bytes must follow.
  virtual void send_head(const Response& response, bool end) = 0;
  virtual void send_body(Slice bytes) = 0;
  // Ends the response; `trailers` may be null or empty (then no trailer section is sent).
  virtual void send_end(const Fields* trailers) = 0;

  // Bytes accepted and not yet taken by the transport (HTTP/2 and 3: nor by flow control).
  virtual size_t backlog() const = 0;

  // Credit: n bytes given by on_body were passed on.
  virtual void consumed(size_t n) = 0;

  // Nothing more of the request's body is wanted. HTTP/2 and 3 may say so to the client
  // (RST_STREAM NO_ERROR, STOP_SENDING) after the answer; HTTP/1.1 reads and drops for a bounded
  // time, then closes. Called before or after the answer began.
  virtual void ignore_request_body() = 0;

  // Ends the stream visibly as a failure: RST_STREAM, RESET_STREAM, or (HTTP/1.1) a connection
  // closed without the end of the body. No further call reaches the handler.
  virtual void reset(Abort why) = 0;

  // HTTP/1.1 only: say `Connection: close` with this answer.
  virtual void close_after() = 0;

  virtual const net::ConnectionFacts& facts() const = 0;
  virtual uint64_t stream_id() const = 0;  // HTTP/1.1: the number of the request, from 0

  // Bytes of this message as they crossed the wire so far (heads after coding, bodies).
  virtual uint64_t bytes_in() const = 0;
  virtual uint64_t bytes_out() const = 0;

 protected:
  ~ServerStream() = default;
};

// Who owns a server connection (edge): makes a handler for each request.
class ServerConnectionHandler {
 public:
  // A request begins. The handler lives until its on_reset or on_finished was called.
  virtual ServerStreamHandler& on_stream(ServerStream& stream) = 0;
  // The connection is finished (closed by the peer, drained, idle, failed): destroy it. It is
  // called from the end of a turn, never from inside another call of the connection.
  // `reason` is static text, empty for an ordinary end.
  virtual void on_closed(std::string_view reason) = 0;

 protected:
  ~ServerConnectionHandler() = default;
};

class ServerConnection {
 public:
  virtual ~ServerConnection() = default;
  // Announces the end (GOAWAY, `Connection: close` on the next answers), finishes what runs.
  // `linger`: an idle HTTP/1.1 connection stays that long for a request already under way, one of
  // HTTP/3 so that its last answer can be read.
  virtual void drain(Nanos linger) = 0;
  // Ends at once: every stream gets on_reset(connection_lost), then on_closed comes.
  virtual void close_now() = 0;
  virtual size_t active_streams() const = 0;
};

// ---- toward backends ---------------------------------------------------------------------------

// The exchange's side of one request to a backend. Implemented by edge.
class ClientStreamHandler {
 public:
  // Where the codec puts the head; reset by the codec for each informational answer.
  virtual Response& response() = 0;

  virtual void on_informational() = 0;  // response() holds a 1xx other than 101
  virtual void on_response_head(bool end) = 0;
  virtual void on_response_body(Slice bytes) = 0;
  virtual void on_response_end() = 0;  // response().trailers holds what came after the body
  virtual void on_request_writable() = 0;
  // The stream is gone. `safe_to_retry`: provably no byte of the request was processed (refused,
  // or a reused connection that died before any byte of an answer; idempotence is the caller's
  // question). `detail` is for the log, valid during the call.
  virtual void on_response_reset(Abort why, bool unanswered, std::string_view detail) = 0;

 protected:
  ~ClientStreamHandler() = default;
};

// The codec's side of one request to a backend.
class ClientStream {
 public:
  // `request` is ready for the wire but for framing. `end`: no body. With body == stream and a
  // backend that is HTTP/1.1 the codec uses chunked coding.
  virtual void send_request_head(const Request& request, bool end) = 0;
  virtual void send_request_body(Slice bytes) = 0;
  virtual void send_request_end(const Fields* trailers) = 0;
  virtual size_t request_backlog() const = 0;
  virtual void response_consumed(size_t n) = 0;
  // The exchange lost interest. No further call reaches the handler.
  virtual void cancel() = 0;
  // Whether any byte of the request was given to the kernel (a POST is sent again only if not).
  virtual bool anything_sent() const = 0;
  // Requests this connection had answered before this one: 0 is a fresh connection.
  virtual uint64_t earlier_requests() const = 0;

 protected:
  ~ClientStream() = default;
};

class ClientConnectionHandler {
 public:
  // A stream ended and the connection can take another.
  virtual void on_available() = 0;
  // The peer said GOAWAY: no further stream can be opened, those that it took go on. `processed`
  // are all that it took, `refused` those that were told Abort::refused because of it.
  virtual void on_going_away(uint64_t processed, uint64_t refused) {
    static_cast<void>(processed);
    static_cast<void>(refused);
  }
  // The peer wants HTTP/1.1 instead (RFC 9113 7), as one that authenticates connections does. The
  // stream was told Abort::refused.
  virtual void on_http11_required() {}
  // The connection is finished: destroy it. Called from the end of a turn.
  virtual void on_client_connection_closed(std::string_view reason) = 0;

 protected:
  ~ClientConnectionHandler() = default;
};

class ClientConnection {
 public:
  virtual ~ClientConnection() = default;
  // available() must be true. The stream is valid until its handler's on_response_end (with the
  // request sent whole) or on_response_reset, or cancel().
  virtual ClientStream& open_stream(ClientStreamHandler& handler) = 0;
  virtual bool available() const = 0;  // a stream can be opened now, as far as is known
  virtual void close() = 0;            // when idle; in good order
  // Many streams at a time. on_available() then says that another can be opened after there could
  // not; a stream ends by itself (its end, a reset, cancel()) without ending the connection.
  virtual bool multiplexes() const { return false; }
  // An answer did not come in time: the peer has to show that it lives (PING), or the connection
  // ends with Abort::connection_lost on each stream. Not available() until then.
  virtual void probe() {}
  // Nothing waits in the kernel that was not read, as an end of the connection would. Costs a call
  // of the kernel; asked before a connection that was long unused is used again.
  virtual bool quiet() const { return true; }
};

}  // namespace pqedge::http
