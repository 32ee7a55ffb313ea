# A client of HTTP posts over one connection.
require "socket"

REQUESTS = 12
headers, body = "POST / HTTP/1.1\r\nContent-Length: 100\r\n\r\n", "x" * 100
server = TCPServer.new("127.0.0.1", 0)
child = fork do
  peer = server.accept
  REQUESTS.times { peer.read(headers.size + body.size); peer.write("HTTP/1.1 204 No Content\r\n\r\n") }
end
socket = TCPSocket.new("127.0.0.1", server.addr[1])
REQUESTS.times do
  socket.write(headers) # old
  socket.write(body) # old
  socket.write(headers + body) # new
  abort unless socket.readpartial(100).start_with?("HTTP/1.1 204")
end
Process.wait(child)
