package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"

	"golang.org/x/net/ipv4"
	"golang.org/x/sys/unix"
)

// must ends the program if a call failed.
func must[T any](value T, err error) T {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	return value
}

// show reads records and prints each.
func show(from io.Reader) {
	record := make([]byte, 39)
	for {
		if _, err := io.ReadFull(from, record); err != nil {
			break
		}
		must(os.Stdout.Write(record))
	}
}

func main() {
	name, path, count := os.Args[1], os.Args[2], must(strconv.Atoi(os.Args[4]))
	address := "127.0.0.1:" + os.Args[3]
	var parts [][]byte
	for i := 0; i < count; i++ {
		parts = append(parts, []byte("record "), []byte(fmt.Sprintf("%031d\n", i)))
	}
	create := func() *os.File { return must(os.Create(path)) }
	open := func() *os.File { return must(os.Open(path)) }
	each := func(to io.Writer) {
		for _, part := range parts {
			must(to.Write(part))
		}
	}
	connect := func() net.Conn { return must(net.Dial("tcp", address)) }
	all := make([]byte, 39*count)

	switch name {
	case "adjacent-writes/file 0":
		file := create()
		each(file)
	case "adjacent-writes/file 1":
		file := create()
		w := bufio.NewWriterSize(file, 65536)
		each(w)
		w.Flush()
	case "adjacent-writes/file 2":
		file := create()
		for i := 0; i < len(parts); i += 2 {
			header, body := parts[i], parts[i+1]
			file.Write(bytes.Join([][]byte{header, body}, nil))
		}
	case "adjacent-writes/unix 0":
		conn := connect()
		each(conn)
	case "adjacent-writes/unix 1":
		conn := connect()
		for i := 0; i < len(parts); i += 2 {
			header, body := parts[i], parts[i+1]
			b := net.Buffers{header, body}; b.WriteTo(conn)
		}
	case "adjacent-writes/unix 2":
		conn := connect()
		w := bufio.NewWriterSize(conn, 65536)
		each(w)
		w.Flush()
	case "no-delay/tcp 0":
		conn := connect()
		conn.(*net.TCPConn).SetNoDelay(false)
		each(conn)
	case "small-reads/file 0":
		show(open())
	case "small-reads/file 1":
		file := open()
		show(bufio.NewReaderSize(file, 65536))
	case "small-reads/pipe 0":
		show(connect())
	case "small-reads/pipe 1":
		conn := connect()
		show(bufio.NewReaderSize(conn, 65536))
	case "positional-writes/file 0":
		file := create()
		for i, part := range parts {
			must(file.WriteAt(part, int64(i/2*39+i%2*7)))
		}
	case "positional-writes/file 1":
		fd := int(create().Fd())
		for i := 0; i < len(parts); i += 2 {
			a, b, offset := parts[i], parts[i+1], int64(i/2*39)
			must(unix.Pwritev(fd, [][]byte{a, b}, offset))
		}
	case "positional-reads/file 0":
		file := open()
		for i := 0; i < len(all); i += 39 {
			must(file.ReadAt(all[i:i+39], int64(i)))
		}
		must(os.Stdout.Write(all))
	case "positional-reads/file 1":
		file, large, offset := open(), all, int64(0)
		must(file.ReadAt(large, offset))
		must(os.Stdout.Write(all))
	case "positional-reads/file 2":
		fd := int(open().Fd())
		for i := 0; i < len(all); i += 78 {
			a, b, offset := all[i:i+39], all[i+39:i+78], int64(i)
			must(unix.Preadv(fd, [][]byte{a, b}, offset))
		}
		must(os.Stdout.Write(all))
	case "seek-then-transfer/file 0":
		file := create()
		for i := 0; i < count; i++ {
			must(file.Seek(int64(39*i), io.SeekStart))
			must(file.Write(bytes.Join(parts[2*i:2*i+2], nil)))
		}
	case "seek-then-transfer/file 1":
		file := create()
		for i := 0; i < count; i++ {
			data, offset := bytes.Join(parts[2*i:2*i+2], nil), int64(39*i)
			must(file.WriteAt(data, offset))
		}
	case "seek-then-transfer/file#read 0":
		file := open()
		for i := 0; i < len(all); i += 39 {
			must(file.Seek(int64(i), io.SeekStart))
			must(file.Read(all[i : i+39]))
		}
		must(os.Stdout.Write(all))
	case "seek-then-transfer/file#read 1":
		file := open()
		for i := 0; i < len(all); i += 39 {
			data, offset := all[i:i+39], int64(i)
			must(file.ReadAt(data, offset))
		}
		must(os.Stdout.Write(all))
	case "tiny-segments/file 0":
		conn := connect()
		for i := 0; i < len(parts); i += 20 {
			b := net.Buffers(parts[i : i+20])
			must(b.WriteTo(conn))
		}
	case "tiny-segments/file 1":
		conn := connect()
		for i := 0; i < len(parts); i += 20 {
			parts := parts[i : i+20]
			must(conn.Write(bytes.Join(parts, nil)))
		}
	case "sync-each/file 0":
		file := create()
		for i := 0; i < len(parts); i += 2 {
			must(file.Write(bytes.Join(parts[i:i+2], nil)))
			must(0, file.Sync())
		}
	case "sync-each/file 1":
		file := create()
		must(file.Write(bytes.Join(parts, nil)))
		must(0, file.Sync())
	case "datagrams/file 0":
		conn := must(net.Dial("udp", address))
		for i := 0; i < len(parts); i += 2 {
			must(conn.Write(bytes.Join(parts[i:i+2], nil)))
		}
	case "datagrams/file 1":
		conn := must(net.ListenPacket("udp4", "127.0.0.1:0"))
		peer := must(net.ResolveUDPAddr("udp4", address))
		var messages []ipv4.Message
		for i := 0; i < len(parts); i += 2 {
			messages = append(messages, ipv4.Message{Buffers: parts[i : i+2], Addr: peer})
		}
		must(ipv4.NewPacketConn(conn).WriteBatch(messages, 0))
	default:
		os.Exit(2)
	}
}
