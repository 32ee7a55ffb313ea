# A client of Kafka sends requests, each after its size, and reads the answers.
import os, socket, struct

broker = socket.create_server(("127.0.0.1", 0))
if os.fork() == 0:
    connection = broker.accept()[0]
    for _ in range(200):
        (size,) = struct.unpack(">i", connection.recv(4, socket.MSG_WAITALL))
        connection.recv(size, socket.MSG_WAITALL)
        connection.sendall(b"answer")
    os._exit(0)
sock = socket.create_connection(broker.getsockname())
sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
for number in range(200):
    payload = b"request %d" % number
    size = struct.pack(">i", len(payload))
    sock.sendall(size)  # old
    sock.sendall(payload)  # old
    sock.sendall(size + payload)  # new
    assert sock.recv(6, socket.MSG_WAITALL) == b"answer"
os.wait()
