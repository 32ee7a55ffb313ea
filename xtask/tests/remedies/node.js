const fs = require("fs");
const net = require("net");
const [, , name, path, port, count] = process.argv;
const parts = [];
for (let i = 0; i < count; i++) {
    parts.push(Buffer.from("record "), Buffer.from(String(i).padStart(31, "0") + "\n"));
}
const lists = parts.flatMap((part, i) => (i % 2 ? [] : [[part, parts[i + 1]]]));
const all = [];
const show = () => process.stdout.write(Buffer.concat(all));
// The end of the program closes its files, and the connections that it has not ended.
const fd = () => fs.openSync(path, name.includes("read") ? "r" : "w+");
const connect = () => net.connect(port, "127.0.0.1");
// Writes each piece when the piece before it has been written.
const oneByOne = (stream, i) => stream.write(parts[i], () => (i + 1 < parts.length ? oneByOne(stream, i + 1) : stream.end()));

const cases = {
    "adjacent-writes/file 0"() {
        const file = fd();
        for (const part of parts) fs.writeSync(file, part);
    },
    "adjacent-writes/file 1"() {
        const stream = fs.createWriteStream(path);
        stream.cork();
        for (const part of parts) stream.write(part);
        stream.uncork();
    },
    "adjacent-writes/file#lines 0"() {
        const file = fd();
        for (const part of parts) fs.writeSync(file, part);
    },
    "adjacent-writes/file#lines 1"() {
        const lines = [];
        const push = (data) => lines.push(Buffer.from(data));
        for (const part of parts) push(part);
        ((fd) => fs.writeFileSync(fd, Buffer.concat(lines.splice(0))))(fd());
        process.exit();
    },
    "adjacent-writes/file 2"() {
        const file = fd();
        for (const [a, b] of lists) ((fd) => fs.writevSync(fd, [a, b]))(file);
    },
    "adjacent-writes/file#stdout 0"() {
        for (const part of parts) process.stdout.write(part);
    },
    "adjacent-writes/file#stdout 1"() {
        const lines = [];
        const push = (text) => lines.push(text);
        for (const part of parts) push(part);
        process.stdout.write(lines.splice(0).join(""));
    },
    "adjacent-writes/unix 0"() {
        oneByOne(connect(), 0);
    },
    "adjacent-writes/unix 1"() {
        const socket = connect();
        socket.cork();
        for (const part of parts) socket.write(part);
        process.nextTick(() => socket.uncork());
        socket.end();
    },
    "adjacent-writes/unix 2"() {
        const socket = connect();
        const next = (i) => {
            if (i === lists.length) return socket.end();
            const [header, body] = lists[i];
            socket.write(Buffer.concat([header, body]), () => next(i + 1));
        };
        next(0);
    },
    "no-delay/tcp 1"() {
        const socket = connect();
        socket.setNoDelay(true);
        oneByOne(socket, 0);
    },
    "small-reads/file 0"() {
        const file = fd();
        for (let i = 0; i < count; i++) all.push(Buffer.alloc(39)), fs.readSync(file, all[i]);
        show();
    },
    "small-reads/file 1"() {
        fs.createReadStream(path, {highWaterMark: 65536}).on("data", (part) => all.push(part)).on("end", show);
    },
    "small-reads/file 2"() {
        const file = fd();
        const read = (fd, buffer) => buffer.subarray(0, fs.readSync(fd, buffer));
        for (let part; (part = read(file, Buffer.alloc(65536))).length; ) all.push(part);
        show();
    },
    "small-reads/pipe#stdin 0"() {
        for (let i = 0, record = Buffer.alloc(39); i < count; i++) fs.readSync(0, record), fs.writeSync(1, record);
    },
    "small-reads/pipe#stdin 1"() {
        const take = (chunk) => fs.writeSync(1, chunk);
        process.stdin.on("data", take);
    },
    "positional-writes/file 0"() {
        const file = fd();
        const next = (i) => {
            if (i === parts.length) return;
            fs.write(file, parts[i], 0, parts[i].length, (i >> 1) * 39 + (i % 2) * 7, () => next(i + 1));
        };
        next(0);
    },
    "positional-writes/file 1"() {
        const file = fd();
        const next = (i, fd = file, position = i * 39) => {
            const done = () => next(i + 1);
            if (i === lists.length) return;
            const [a, b] = lists[i];
            fs.writev(fd, [a, b], position, done);
        };
        next(0);
    },
    "positional-reads/file 0"() {
        const file = fd();
        for (let i = 0; i < count; i++) all.push(Buffer.alloc(39)), fs.readSync(file, all[i], 0, 39, 39 * i);
        show();
    },
    "positional-reads/file 1"() {
        const file = fd();
        const next = (i, fd = file, position = i * 78) => {
            const done = () => next(i + 1);
            if (i === count / 2) return show();
            const [a, b] = [Buffer.alloc(39), Buffer.alloc(39)];
            all.push(a, b);
            fs.readv(fd, [a, b], position, done);
        };
        next(0);
    },
    "tiny-segments/file 0"() {
        const file = fd();
        for (const parts of lists) fs.writevSync(file, parts);
    },
    "tiny-segments/file 1"() {
        const file = fd();
        for (const parts of lists) fs.writeSync(file, Buffer.concat(parts));
    },
    "sync-each/file 0"() {
        const file = fd();
        for (const list of lists) fs.writevSync(file, list), fs.fdatasyncSync(file);
    },
    "sync-each/file 1"() {
        const fd = fs.openSync(path, "w");
        for (const list of lists) fs.writevSync(fd, list);
        fs.fdatasyncSync(fd);
    },
};
(cases[name] ?? (() => process.exit(2)))();
