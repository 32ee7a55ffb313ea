require "logger"
require "socket"

name, path, port, count = ARGV[0], ARGV[1], ARGV[2].to_i, ARGV[3].to_i
records = Array.new(count) { |number| ["record ", format("%031d\n", number)] }
offset = -39

case name
when "adjacent-writes/file 0"
  io = File.open(path, "w")
  records.flatten.each { |part| io.syswrite(part) }
when "adjacent-writes/file 1"
  io = File.open(path, "w")
  io.sync = false
  records.each { |a, b| io.write(a); io.write(b) }
  io.flush
when "adjacent-writes/file#logger 0"
  logger = Logger.new(path)
  logger.formatter = proc { |_, _, _, text| text }
  # Without the head that it writes to a new file.
  File.truncate(path, 0)
  records.each { |a, b| logger.info(a + b) }
when "adjacent-writes/file#logger 1"
  io = File.open(path, "a")
  logger = Logger.new(io)
  logger.formatter = proc { |_, _, _, text| text }
  records.each_slice(500) do |some|
    some.each { |a, b| logger.info(a + b) }
    # A child has a copy of the buffer, which its end writes.
    io.flush
    Process.wait(fork {})
  end
when "adjacent-writes/file 2"
  io = File.open(path, "w")
  io.sync = true
  records.each { |a, b| io.write(a, b) }
when "adjacent-writes/unix 0"
  socket = TCPSocket.new("127.0.0.1", port)
  records.flatten.each { |part| socket.write(part) }
when "adjacent-writes/unix 1"
  socket = TCPSocket.new("127.0.0.1", port)
  socket.sync = false
  records.flatten.each { |part| socket.write(part) }
  socket.flush
when "adjacent-writes/unix 2"
  socket = TCPSocket.new("127.0.0.1", port)
  records.each { |header, body| socket.write(header, body) }
when "no-delay/tcp 1"
  socket = TCPSocket.new("127.0.0.1", port)
  socket.setsockopt(:TCP, :NODELAY, true)
  records.flatten.each { |part| socket.write(part) }
when "quick-ack/tcp 1"
  socket = TCPSocket.new("127.0.0.1", port)
  socket.setsockopt(:TCP, :QUICKACK, 1)
  records.flatten.each { |part| socket.write(part) }
when "small-reads/file 0"
  io, all = File.open(path), +""
  all << io.sysread(39) while all.size < 39 * count
  print all
when "small-reads/file 1"
  io = File.open(path)
  while (part = io.read(65536)) do print part end
when "small-reads/file 2"
  io = File.open(path)
  io.each_line { |line| print line }
when "small-reads/pipe 0"
  io = TCPSocket.new("127.0.0.1", port)
  count.times { $stdout.syswrite(io.sysread(39)) }
when "small-reads/pipe 1"
  io, data = TCPSocket.new("127.0.0.1", port), +""
  count.times do
    data << io.readpartial(65536) while data.size < 39
    $stdout.syswrite(data.slice!(0, 39))
  end
when "small-reads/pipe 2"
  io = TCPSocket.new("127.0.0.1", port)
  count.times { $stdout.syswrite(io.gets) }
when "positional-writes/file 0"
  io = File.open(path, "w")
  records.each { |a, b| io.pwrite(a, offset += 39); io.pwrite(b, offset + 7) }
when "positional-writes/file 1"
  io = File.open(path, "w")
  records.each do |a, b|
    offset += 39
    io.pwrite(a + b, offset)
  end
when "positional-reads/file 0"
  io = File.open(path)
  print Array.new(count) { io.pread(39, offset += 39) }.join
when "positional-reads/file 1"
  io, length, offset = File.open(path), 39 * count, 0
  print io.pread(length, offset)
when "seek-then-transfer/file 0"
  io = File.open(path, "w")
  records.each { |a, b| io.sysseek(offset += 39); io.syswrite(a + b) }
when "seek-then-transfer/file 1"
  io = File.open(path, "w")
  records.each do |a, b|
    data, offset = a + b, offset + 39
    io.pwrite(data, offset)
  end
when "seek-then-transfer/file#read 0"
  io = File.open(path)
  print Array.new(count) { io.sysseek(offset += 39); io.sysread(39) }.join
when "seek-then-transfer/file#read 1"
  io, length = File.open(path), 39
  parts = Array.new(count) do
    offset += 39
    io.pread(length, offset)
  end
  print parts.join
when "tiny-segments/file 0"
  io = File.open(path, "w")
  io.sync = true
  records.each { |parts| io.write(*parts) }
when "tiny-segments/file 1"
  io = File.open(path, "w")
  io.sync = true
  records.each { |parts| io.write(parts.join) }
when "sync-each/file 0"
  io = File.open(path, "w")
  records.each { |a, b| io.write(a, b); io.fdatasync }
when "sync-each/file 1"
  io = File.open(path, "w")
  records.each { |a, b| io.write(a, b) }
  io.fdatasync
else
  exit! 2
end
# An end that flushes nothing.
$stdout.flush
exit! 0
