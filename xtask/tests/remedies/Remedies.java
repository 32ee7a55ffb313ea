import java.io.*;
import java.net.*;
import java.nio.ByteBuffer;
import java.nio.channels.*;
import java.nio.file.*;

class Remedies {
    interface Write {
        void bytes(byte[] part) throws IOException;
    }

    static String path;
    static int port;
    static byte[][] parts;

    static void each(Write write) throws IOException {
        for (byte[] part : parts)
            write.bytes(part);
    }

    static FileChannel open() throws IOException {
        return FileChannel.open(Path.of(path), StandardOpenOption.CREATE, StandardOpenOption.READ, StandardOpenOption.WRITE);
    }

    static SocketChannel connect() throws IOException {
        return SocketChannel.open(new InetSocketAddress("127.0.0.1", port));
    }

    /** Reads records, and prints each. */
    static void show(InputStream in) throws IOException {
        for (byte[] record; (record = in.readNBytes(39)).length > 0;)
            new FileOutputStream(FileDescriptor.out).write(record);
    }

    static ByteBuffer joined(int i) {
        return ByteBuffer.allocate(39).put(parts[i]).put(parts[i + 1]).flip();
    }

    public static void main(String[] word) throws IOException {
        path = word[1];
        port = Integer.parseInt(word[2]);
        int count = Integer.parseInt(word[3]);
        parts = new byte[2 * count][];
        for (int i = 0; i < 2 * count; i++)
            parts[i] = (i % 2 == 0 ? "record " : String.format("%031d\n", i / 2)).getBytes();
        switch (word[0]) {
            case "adjacent-writes/file 0" -> {
                var out = new FileOutputStream(path);
                each(part -> out.write(part));
            }
            case "adjacent-writes/file 1" -> {
                OutputStream out = new FileOutputStream(path);
                out = new BufferedOutputStream(out, 65536);
                for (byte[] part : parts)
                    out.write(part);
                out.flush();
            }
            case "adjacent-writes/file 2" -> {
                var channel = open();
                for (int i = 0; i < 2 * count; i += 2) {
                    ByteBuffer a = ByteBuffer.wrap(parts[i]), b = ByteBuffer.wrap(parts[i + 1]);
                    channel.write(new ByteBuffer[] {a, b});
                }
            }
            case "adjacent-writes/file#println 0" -> {
                OutputStream out = new BufferedOutputStream(new FileOutputStream(path), 65536);
                var lines = new PrintWriter(out, true);
                for (int i = 0; i < 2 * count; i += 2)
                    lines.println(new String(joined(i).array(), 0, 38));
            }
            case "adjacent-writes/file#println 1" -> {
                OutputStream out = new FileOutputStream(path);
                out = new BufferedOutputStream(out, 65536);
                var lines = new PrintWriter(out);
                for (int i = 0; i < 2 * count; i += 2)
                    lines.println(new String(joined(i).array(), 0, 38));
                lines.flush();
                out.flush();
            }
            case "adjacent-writes/file#random 0" -> {
                var file = new RandomAccessFile(path, "rw");
                for (byte[] part : parts)
                    file.write(part);
            }
            case "adjacent-writes/file#random 1" -> {
                var file = new RandomAccessFile(path, "rw");
                DataOutputStream out;
                out = new DataOutputStream(new BufferedOutputStream(new FileOutputStream(file.getFD()), 65536));
                for (byte[] part : parts)
                    out.write(part);
                out.flush();
            }
            case "adjacent-writes/unix 0" -> {
                var out = connect().socket().getOutputStream();
                each(part -> out.write(part));
            }
            case "adjacent-writes/unix 1" -> {
                var socket = new Socket("127.0.0.1", port);
                OutputStream out;
                out = new BufferedOutputStream(socket.getOutputStream(), 65536);
                for (byte[] part : parts)
                    out.write(part);
                out.flush();
            }
            case "adjacent-writes/unix 2" -> {
                var channel = connect();
                for (int i = 0; i < 2 * count; i += 2) {
                    ByteBuffer header = ByteBuffer.wrap(parts[i]), body = ByteBuffer.wrap(parts[i + 1]);
                    channel.write(new ByteBuffer[] {header, body});
                }
            }
            case "no-delay/tcp 1" -> {
                var socket = new Socket("127.0.0.1", port);
                socket.setTcpNoDelay(true);
                var out = socket.getOutputStream();
                each(part -> out.write(part));
            }
            case "quick-ack/tcp 1" -> {
                var socket = new Socket("127.0.0.1", port);
                socket.setOption(jdk.net.ExtendedSocketOptions.TCP_QUICKACK, true);
                var out = socket.getOutputStream();
                each(part -> out.write(part));
            }
            case "small-reads/file 0" -> {
                var file = new RandomAccessFile(path, "r");
                show(Channels.newInputStream(file.getChannel()));
            }
            case "small-reads/file 1" -> {
                var in = new FileInputStream(path);
                show(new BufferedInputStream(in, 65536));
            }
            case "small-reads/file 2" -> {
                var channel = open();
                for (ByteBuffer buffer; channel.read(buffer = ByteBuffer.allocate(65536)) > 0;)
                    System.out.write(buffer.array(), 0, buffer.position());
                System.out.flush();
            }
            case "small-reads/pipe 0" -> show(new Socket("127.0.0.1", port).getInputStream());
            case "small-reads/pipe 1" -> {
                var socket = new Socket("127.0.0.1", port);
                show(new BufferedInputStream(socket.getInputStream(), 65536));
            }
            case "positional-writes/file 0" -> {
                var channel = open();
                for (int i = 0; i < 2 * count; i++)
                    channel.write(ByteBuffer.wrap(parts[i]), i / 2 * 39 + i % 2 * 7);
            }
            case "positional-writes/file 1" -> {
                var channel = open();
                for (int i = 0; i < 2 * count; i += 2) {
                    ByteBuffer buffer = joined(i);
                    long offset = i / 2 * 39;
                    channel.write(buffer, offset);
                }
            }
            case "positional-reads/file 0" -> {
                var channel = open();
                var all = new byte[39 * count];
                for (int i = 0; i < all.length; i += 39)
                    channel.read(ByteBuffer.wrap(all, i, 39), i);
                System.out.write(all);
            }
            case "positional-reads/file 1" -> {
                var channel = open();
                var buffer = ByteBuffer.allocate(39 * count);
                long offset = 0;
                channel.read(buffer, offset);
                System.out.write(buffer.array());
            }
            case "seek-then-transfer/file 0" -> {
                var file = new RandomAccessFile(path, "rw");
                for (int i = 0; i < 2 * count; i += 2) {
                    file.seek(i / 2 * 39);
                    file.write(joined(i).array());
                }
            }
            case "seek-then-transfer/file 1" -> {
                var channel = open();
                for (int i = 0; i < 2 * count; i += 2) {
                    var buffer = joined(i);
                    long position = i / 2 * 39;
                    channel.write(buffer, position);
                }
            }
            case "seek-then-transfer/file#read 0" -> {
                var file = new RandomAccessFile(path, "r");
                var all = new byte[39 * count];
                for (int i = 0; i < all.length; i += 39) {
                    file.seek(i);
                    file.read(all, i, 39);
                }
                System.out.write(all);
            }
            case "seek-then-transfer/file#read 1" -> {
                var channel = open();
                var all = new byte[39 * count];
                for (int position = 0; position < all.length; position += 39) {
                    var buffer = ByteBuffer.wrap(all, position, 39);
                    channel.read(buffer, position);
                }
                System.out.write(all);
            }
            case "tiny-segments/file 0" -> {
                var channel = open();
                for (int i = 0; i < 2 * count; i += 2)
                    channel.write(new ByteBuffer[] {ByteBuffer.wrap(parts[i]), ByteBuffer.wrap(parts[i + 1])});
            }
            case "tiny-segments/file 1" -> {
                var channel = open();
                for (int i = 0; i < 2 * count; i += 2) {
                    var joined = ByteBuffer.allocate(39);
                    for (byte[] part : new byte[][] {parts[i], parts[i + 1]})
                        joined.put(part);
                    channel.write(joined.flip());
                }
            }
            case "sync-each/file 0" -> {
                var channel = open();
                for (int i = 0; i < 2 * count; i += 2) {
                    channel.write(joined(i));
                    channel.force(false);
                }
            }
            case "sync-each/file 1" -> {
                var channel = open();
                for (int i = 0; i < 2 * count; i += 2)
                    channel.write(joined(i));
                channel.force(false);
            }
            default -> System.exit(2);
        }
    }
}
