from posix import pread
import net, os, strformat, strutils

let (name, path, port) = (paramStr(1), paramStr(2), Port(parseInt(paramStr(3))))
let count = parseInt(paramStr(4))

proc fill(file: File, all: string) = file.write(all)

proc connected(socket: Socket): Socket =
  socket.connect("127.0.0.1", port)
  socket

proc show(file: File) =
  var record = newString(39)
  while file.readChars(record) == 39:
    stdout.write(record)
    stdout.flushFile()

proc show(socket: Socket) =
  while (let record = socket.recv(39); record.len > 0):
    stdout.write(record)
    stdout.flushFile()

# A file without a buffer.
proc unbuffered(mode: FileMode): File = open(path, mode, 0)

case name
of "adjacent-writes/file 0":
  let file = unbuffered(fmWrite)
  for i in 0 ..< count: file.write("record "); file.write(&"{i:031}\n")
of "adjacent-writes/file 1":
  let file = open(path, fmWrite, bufSize = 0)
  var text = ""
  for i in 0 ..< count: text.add("record "); text.add(&"{i:031}\n")
  file.write(text); text.setLen(0)
of "adjacent-writes/unix 0":
  let socket = newSocket().connected
  for i in 0 ..< count: socket.send("record "); socket.send(&"{i:031}\n")
of "adjacent-writes/unix 1":
  let socket = newSocket().connected
  var text = ""
  for i in 0 ..< count:
    for part in ["record ", &"{i:031}\n"]: text.add(part)
  socket.send(text)
of "no-delay/tcp 1":
  let socket = newSocket().connected
  socket.setSockOpt(OptNoDelay, true, level = IPPROTO_TCP.cint)
  for i in 0 ..< count: socket.send(&"record {i:031}\n")
of "small-reads/file 0":
  let file = unbuffered(fmRead)
  var (record, all) = (newString(39), "")
  while file.readChars(record) == 39: all.add(record)
  stdout.write(all)
of "small-reads/file 1":
  let file = unbuffered(fmRead)
  var (buffer, all) = (newString(65536), "")
  while (let got = file.readChars(buffer); got > 0): all.add(buffer[0 ..< got])
  stdout.write(all)
of "small-reads/pipe 0":
  newSocket(buffered = false).connected.show
of "small-reads/pipe 1":
  newSocket().connected.show
of "small-reads/pipe#stdin 0":
  setStdIoUnbuffered()
  show stdin
of "small-reads/pipe#stdin 1":
  show stdin
of "seek-then-transfer/file#read 0":
  let file = unbuffered(fmRead)
  var (record, all) = (newString(39), "")
  for i in 0 ..< count:
    file.setFilePos(39 * i)
    if file.readChars(record) == 39: all.add(record)
  stdout.write(all)
of "seek-then-transfer/file#read 1":
  let (file, total) = (unbuffered(fmRead), count)
  var (buffer, all, count) = (newString(39), "", 39)
  for i in 0 ..< total:
    let offset = 39 * i
    if pread(file.getFileHandle, addr buffer[0], count, offset) == 39: all.add(buffer)
  stdout.write(all)
else: quit(2)
