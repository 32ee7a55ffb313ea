import core.stdc.stdlib : exit;
import core.sys.posix.unistd : pread, _exit;
import std.algorithm : map;
import std.array, std.conv, std.format, std.range, std.socket, std.stdio;

void show(scope ubyte[] delegate() next) {
    for (ubyte[] got; (got = next()).length > 0;) {
        stdout.rawWrite(got);
        stdout.flush();
    }
}

void main(string[] args) {
    const path = args[2], port = args[3].to!ushort, total = args[4].to!size_t;
    const records = total.iota.map!(i => ["record ", format("%031d\n", i)]).array;
    size_t count = 39;
    ubyte[39] buffer;
    auto connected() { return new TcpSocket(new InternetAddress("127.0.0.1", port)); }
    auto unbuffered(string mode) { auto file = File(path, mode); file.setvbuf(0, _IONBF); return file; }
    switch (args[1]) {
    case "adjacent-writes/file 0":
        auto file = File(path, "w");
        foreach (record; records) foreach (part; record) { file.write(part); file.flush(); }
        break;
    case "adjacent-writes/file 1":
        auto file = File(path, "w");
        __gshared ubyte[65536] large; file.setvbuf(large);
        foreach (record; records) foreach (part; record) file.write(part);
        file.flush();
        break;
    case "adjacent-writes/file 2":
        auto file = File(path, "w");
        foreach (record; records) {
            const header = record[0], body = record[1];
            file.write(header, body);
            file.flush();
        }
        break;
    case "adjacent-writes/unix 0":
        auto socket = connected();
        foreach (record; records) foreach (part; record) socket.send(part);
        break;
    case "adjacent-writes/unix 1":
        auto socket = connected();
        foreach (record; records) {
            auto header = cast(ubyte[]) record[0].dup, body = cast(ubyte[]) record[1].dup;
            socket.send(header ~ body);
        }
        break;
    case "no-delay/tcp 1":
        auto socket = connected();
        socket.setOption(SocketOptionLevel.TCP, SocketOption.TCP_NODELAY, true);
        foreach (record; records) socket.send(record[0] ~ record[1]);
        break;
    case "small-reads/file 0":
        auto file = unbuffered("r");
        ubyte[] all;
        for (ubyte[] got; (got = file.rawRead(buffer[])).length > 0;) all ~= got;
        stdout.rawWrite(all);
        break;
    case "small-reads/file 1":
        auto file = File(path, "r");
        __gshared ubyte[65536] large; file.setvbuf(large);
        ubyte[] all;
        for (ubyte[] got; (got = file.rawRead(buffer[])).length > 0;) all ~= got;
        stdout.rawWrite(all);
        break;
    case "small-reads/pipe 0":
        auto socket = connected();
        show(() => buffer[0 .. socket.receive(buffer)]);
        break;
    case "small-reads/pipe 1":
        auto socket = connected();
        auto bytes = new ubyte[65536];
        show(() => bytes[0 .. socket.receive(bytes)]);
        break;
    case "seek-then-transfer/file#read 0":
        auto file = unbuffered("r");
        foreach (i; 0 .. total) { file.seek(39 * i); stdout.rawWrite(file.rawRead(buffer[])); }
        break;
    case "seek-then-transfer/file#read 1":
        auto file = unbuffered("r");
        foreach (i; 0 .. total) {
            const offset = 39 * i;
            pread(file.fileno, buffer.ptr, count, offset);
            stdout.rawWrite(buffer[]);
        }
        break;
    case "sync-each/file 0":
        auto file = File(path, "w");
        foreach (record; records) { file.write(record[0], record[1]); file.flush(); file.sync(); }
        break;
    case "sync-each/file 1":
        auto file = File(path, "w");
        foreach (record; records) file.write(record[0], record[1]);
        file.flush();
        file.sync();
        break;
    default:
        exit(2);
    }
    // An end that flushes nothing.
    stdout.flush();
    _exit(0);
}
