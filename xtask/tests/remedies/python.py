import csv, json, logging, multiprocessing, os, socket, sys
import vectored

case, path, port, count = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
records = [(b"record ", b"%031d\n" % number) for number in range(count)]
gather = vectored.Gather()


def connect():
    return socket.create_connection(("127.0.0.1", port))


def new():
    return os.open(path, os.O_RDWR | os.O_CREAT)


def each(write):
    for pair in records:
        for part in pair:
            write(part)


def show(pieces):
    for piece in pieces:
        os.write(1, piece)


def dump_each(file):
    for number in range(count):
        file.write("record " + "0" * (31 - len(str(number))))
        json.dump(number, file)
        file.write("\n")


def in_worker(work):
    """The end of a worker flushes nothing."""
    worker = multiprocessing.get_context("fork").Process(target=work)
    worker.start()
    worker.join()


match case:
    case "adjacent-writes/file 0":
        file = open(path, "w")
        each(lambda part: print(part.decode(), end="", file=file, flush=True))
    case "adjacent-writes/file 1":
        file = open(path, "wb", buffering=65536)
        each(file.write)
        file.flush()
    case "adjacent-writes/file 4":
        fd = new()
        file = vectored.GatherWriter(fd)
        for data in (part for pair in records for part in pair):
            file.write(data)
        file.flush()
    case "adjacent-writes/file#text 0":
        file = open(path, "w", buffering=1)
        for a, b in records:
            file.write((a + b).decode())
    case "adjacent-writes/file#text 1":
        file = open(path, "w", buffering=65536)
        for a, b in records:
            file.write((a + b).decode())
        file.flush()
    case "adjacent-writes/file#json 0":
        file = open(path, "w", buffering=1)
        dump_each(file)
    case "adjacent-writes/file#json 1":
        file = open(path, "w", buffering=65536)
        dump_each(file)
        file.flush()
    case "adjacent-writes/file#csv 0":
        csv.writer(open(path, "w", buffering=1), lineterminator="\n").writerows([(a + b[:-1]).decode()] for a, b in records)
    case "adjacent-writes/file#csv 1":
        file = open(path, "w", buffering=65536)
        csv.writer(file, lineterminator="\n").writerows([(a + b[:-1]).decode()] for a, b in records)
        file.flush()
    case "adjacent-writes/file#print 0":
        for a, b in records:
            print((a + b).decode(), end="", flush=True)
    case "adjacent-writes/file#print 1":
        for a, b in records:
            print((a + b).decode(), end="")
        sys.stdout.flush()
    case "adjacent-writes/file#logging 0":
        handler = logging.FileHandler(path)
        logging.basicConfig(format="%(message)s", level=logging.INFO, handlers=[handler])
        for a, b in records:
            logging.info((a + b[:-1]).decode())
    case "adjacent-writes/file#logging 1":
        page = open(os.path.dirname(os.path.abspath(__file__)) + "/../../../docs/python.md").read()
        exec(page.split("\n## Logs of a service\n")[1].split("```python\n")[1].split("```")[0])
        handler = LogFile(path)
        logging.basicConfig(format="%(message)s", level=logging.INFO, handlers=[handler])

        def work():
            handler.direct = False
            for a, b in records:
                logging.info((a + b[:-1]).decode())
            handler.write_out()

        in_worker(work)
    case "adjacent-writes/file#binary 0":
        each(open(path, "wb", buffering=0).write)
    case "adjacent-writes/file#binary 1":
        file = open(path, "wb", buffering=0)
        for a, b in records:
            file.write(a + b)
        file.flush()
    case "adjacent-writes/file 2":
        fd = new()
        for a, b in records:
            os.writev(fd, [a, b])
    case "adjacent-writes/file 3":
        gather, fd = vectored.Gather(), new()
        for a, b in records:
            gather.write_all(fd, [a, b])
    case "adjacent-writes/unix 0":
        each(connect().send)
    case "adjacent-writes/unix 1":
        sock = connect()
        for header, body in records:
            sock.sendall(header + body)
    case "adjacent-writes/unix 2":
        gather, sock = vectored.Gather(), connect()
        for header, body in records:
            gather.write_all(sock, [header, body])
    case "adjacent-writes/unix 3":
        sock = connect()
        file = sock.makefile("wb", buffering=65536)
        each(file.write)
        file.flush()
    case "no-delay/tcp 1":
        sock = connect()
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        each(sock.send)
    case "quick-ack/tcp 1":
        sock = connect()
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK, 1)
        each(sock.send)
    case "small-reads/file 0":
        fd = os.open(path, os.O_RDONLY)
        show(iter(lambda: os.read(fd, 39), b""))
    case "small-reads/file 1":
        file = open(path, "rb", buffering=65536)
        show(iter(lambda: file.read(39), b""))
    case "small-reads/pipe 0":
        sock = connect()
        show(iter(lambda: sock.recv(39), b""))
    case "small-reads/pipe 1":
        sock = connect()
        file = sock.makefile("rb", buffering=65536)
        show(iter(lambda: file.read(39), b""))
    case "small-reads/pipe#stdin 0":
        show(iter(lambda: os.read(0, 39), b""))
    case "small-reads/pipe#stdin 1":
        file = sys.stdin.buffer
        show(iter(lambda: file.read(39), b""))
    case "small-reads/pipe#stdin 2":
        fd = 0
        file = os.fdopen(fd, "rb", 65536)
        show(iter(lambda: file.read(39), b""))
    case "positional-writes/file 0":
        fd = new()
        for number, (a, b) in enumerate(records):
            os.pwrite(fd, a, number * 39)
            os.pwrite(fd, b, number * 39 + 7)
    case "positional-writes/file 1":
        fd = new()
        for number, (a, b) in enumerate(records):
            offset = number * 39
            os.pwritev(fd, [a, b], offset)
    case "positional-writes/file 2":
        gather, fd = vectored.Gather(), new()
        for number, (a, b) in enumerate(records):
            offset = number * 39
            gather.write_all(fd, [a, b], offset)
    case "positional-reads/file 0":
        fd = os.open(path, os.O_RDONLY)
        show([b"".join(os.pread(fd, 39, offset) for offset in range(0, 39 * count, 39))])
    case "positional-reads/file 1":
        fd, parts = os.open(path, os.O_RDONLY), []
        for offset in range(0, 39 * count, 78):
            a, b = bytearray(39), bytearray(39)
            os.preadv(fd, [a, b], offset)
            parts += [a, b]
        show([b"".join(parts)])
    case "seek-then-transfer/file 0":
        fd = new()
        for number, (a, b) in enumerate(records):
            os.lseek(fd, number * 39, os.SEEK_SET)
            os.write(fd, a + b)
    case "seek-then-transfer/file 1":
        fd = new()
        for number, (a, b) in enumerate(records):
            data, offset = a + b, number * 39
            os.pwrite(fd, data, offset)
    case "seek-then-transfer/file#read 0":
        fd = os.open(path, os.O_RDONLY)
        show([b"".join(os.read(fd, 39 + 0 * os.lseek(fd, offset, os.SEEK_SET)) for offset in range(0, 39 * count, 39))])
    case "seek-then-transfer/file#read 1":
        fd, total, count = os.open(path, os.O_RDONLY), count, 39
        show([b"".join(os.pread(fd, count, offset) for offset in range(0, 39 * total, 39))])
    case "tiny-segments/file 0":
        fd = new()
        for parts in records:
            os.writev(fd, parts)
    case "tiny-segments/file 1":
        fd = new()
        for parts in records:
            os.write(fd, b"".join(parts))
    case "sync-each/file 0":
        fd = new()
        for a, b in records:
            os.write(fd, a + b)
            os.fdatasync(fd)
    case "sync-each/file 1":
        fd = new()
        for a, b in records:
            os.write(fd, a + b)
        os.fdatasync(fd)
    case _:
        os._exit(2)
# An end that flushes nothing.
os._exit(0)
