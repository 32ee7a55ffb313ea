//! Rules of what is counted and what is listed.

use crate::advisor::tests::logs::*;

#[test]
fn calls_that_show_how_much_was_written_are_barriers_to_writes() {
    check(
        r#"O; W; …; W => 2→1 harmless-between
  brk
  fcntl(3</tmp/f>, F_GETFL) = 0x8001 (flags O_WRONLY|O_LARGEFILE)
  fcntl(3</tmp/f>, F_GETFD) = 0
  ioctl(3</tmp/f>, TCGETS, 0x7ffe) = -1 ENOTTY (Inappropriate ioctl for device)
  ioctl(1</dev/pts/0<char 136:0>>, TIOCGWINSZ, {ws_row=24, ws_col=80, ws_xpixel=0, ws_ypixel=0}) = 0
  ioctl(3</tmp/f>, 0x5401, 0x7ffe) = -1 ENOTTY (Inappropriate ioctl for device)
  openat(AT_FDCWD</>, "/tmp/x", O_RDONLY) = 4</tmp/x>; close(4</tmp/x>) = 0
O; W; …; W => 2→1 adjacent
  getpid() = 1
  gettid() = 1
  clock_gettime(CLOCK_REALTIME, {tv_sec=1, tv_nsec=0}) = 0
O; W; …; W => 2→1 ioctl, setsockopt, ftruncate or the like between them
  ioctl(4<pipe:[7]>, FIONREAD, [0]) = 0
  ioctl(3</tmp/f>, FIONREAD, [0]) = 0
  fallocate(3</tmp/f>, 0, 0, 4096) = 0
  truncate("/tmp/f", 0) = 0
  getsockopt(5<TCP:[1]>, SOL_SOCKET, SO_ERROR, [0], [4]) = 0
O; W; …; W => 2→1 lseek(SEEK_END), statfs or the like between them
  lseek(3</tmp/f>, 0, SEEK_END) = 20
  lseek(3</tmp/f>, 0, SEEK_DATA) = 0
  lseek(3</tmp/f>, 0, SEEK_HOLE) = 20
  _llseek(3</tmp/f>, 0, [20], SEEK_END) = 0
  statfs("/tmp", {f_type=TMPFS_MAGIC}) = 0
  fstatfs(3</tmp/f>, {f_type=TMPFS_MAGIC}) = 0
O; W; …; W => 2→1 stat between them
  stat("/tmp/f", {st_mode=S_IFREG|0644, st_size=20, ...}) = 0
  newfstatat(3</tmp/f>, "", {st_size=20, ...}, AT_EMPTY_PATH) = 0
  statx(3</tmp/f>, "", AT_EMPTY_PATH, STATX_SIZE, {stx_size=20}) = 0
  fstat(5, {st_size=20}) = 0
O; W; …; W => 2→1 an open that creates or empties another file between them
  openat(AT_FDCWD</>, "/tmp/done", O_WRONLY|O_CREAT|O_EXCL, 0666) = 4</tmp/done>
  creat("/tmp/done", 0666) = 4</tmp/done>
  openat(-100, "/tmp/g", 0x241, 0x1b6) = 4</tmp/g>
O; W; lseek(3</tmp/f>, 0, SEEK_CUR) = 20; W => 2→1 lseek(SEEK_CUR) between them
O; W; sendfile(4<TCP:[127.0.0.1:80->127.0.0.1:9]>, 5</page>, [0] => [10], 10) = 10; W => 2→1 sendfile, splice
openat(AT_FDCWD</>, "/tmp/lock", O_RDWR) = 4</tmp/lock>; O; flock(4</tmp/lock>, LOCK_EX) = 0; W; close(4</tmp/lock>) = 0; W => 2→1 fcntl or a lock
open 3 a; open 4 a; open 5 b; fcntl(3, F_SETLK, {l_type=F_WRLCK, l_start=0, l_len=0}) = 0; write 5 8; close 4; write 5 8 => 2→1 fcntl or a lock
openat(AT_FDCWD</>, "/a", O_WRONLY|O_SYNC) = 3; 2 × write 3 8 => 2→1 O_SYNC or O_DSYNC"#,
    );
}

#[test]
fn reads_may_be_made_earlier_than_writes_but_not_than_waits() {
    check(
        r#"pipe 5 6; open 3 a; open 4 b; read 3 8; …
  write 6 1; read 3 8 => small-reads file 2→1 harmless-between
  fsync(4) = 0; read 3 8 => small-reads file 2→1 harmless-between
  rename("/x", "/y") = 0; read 3 8 => small-reads file 2→1 harmless-between
  fstat(3, {st_mode=S_IFREG|0644, st_size=20, ...}) = 0; read 3 8 => small-reads file 2→1 harmless-between
  read 5 1; read 3 8 => small-reads file 2→1 a read of a pipe or socket
  futex(0x7f, FUTEX_WAIT_PRIVATE, 0, NULL) = 0; read 3 8 => small-reads file 2→1 futex
  pwrite64 3 1 0; read 3 8 => small-reads file 2→1 reads and writes of the same open file in turn
open 3 a; 2 × read 3 4096; read(3, "x", 4096) = 100; read(3, "", 4096) = 0 => small-reads file 3→1 adjacent
open 3 a; 2 × read 3 65536; read 3 8 => -
O; R; sendfile(5<TCP:[1.1.1.1:2->1.1.1.1:3]>, 3</tmp/f>, NULL, 20) = 20; R => -"#,
    );
}

/// The wait before many other barriers is forgotten, but not that there was a barrier.
#[test]
fn of_many_barriers_the_first_ones_count_too() {
    let many = ["write 6 1; write 8 1"; 20].join("; ");
    let futex = "futex(0x7f, FUTEX_WAIT_PRIVATE, 0, NULL) = 0";
    let begin = "pipe 5 6; pipe 7 8; open 3 a; read 3 8";
    let writes = "adjacent-writes pipe 40→2 a write to another pipe";
    check(&format!(
        "{begin}; {many}; read 3 8 => small-reads file 2→1 harmless-between | {writes}
{begin}; {futex}; {many}; read 3 8 => {writes} or socket between them | small-reads file 2→1 futex"
    ));
}

#[test]
fn bytes_of_a_mapped_file_can_be_seen_and_changed_at_any_time() {
    check(
        r#"…; W; W => 2→1 the file is mapped into memory
  O; mmap(NULL, 4096, PROT_READ, MAP_SHARED, 3</tmp/f>, 0) = 0x7f00
  O; A; mmap(NULL, 4096, PROT_READ, MAP_SHARED, 4</tmp/f>, 0) = 0x7f00
  A; mmap(NULL, 4096, PROT_READ, MAP_SHARED, 4</tmp/f>, 0) = 0x7f00; close(4</tmp/f>) = 0; O
O; W; mmap(NULL, 4096, PROT_READ, MAP_SHARED, 3</tmp/f>, 0) = 0x7f00; W => 2→1 the file is mapped into memory
O; …; W; W => 2→1 adjacent
  mmap(NULL, 8, PROT_READ, MAP_PRIVATE|MAP_ANONYMOUS, -1, 0) = 0x7f00
  mmap(NULL, 8, PROT_READ, MAP_SHARED, 3</tmp/f>, 0) = -1 ENODEV (No such device)
O; …; R; R => small-reads file 2→1 adjacent
  mmap(NULL, 4096, PROT_READ, MAP_SHARED, 3</tmp/f>, 0) = 0x7f00
  mmap(NULL, 4096, PROT_READ|PROT_WRITE, MAP_PRIVATE, 3</tmp/f>, 0) = 0x7f00
O; …; R => small-reads file 2→1 the file is mapped into memory
  mmap(NULL, 4096, PROT_READ|PROT_WRITE, MAP_SHARED, 3</tmp/f>, 0) = 0x7f00; R
  mmap(NULL, 4096, 0x3, 0x1, 3</tmp/f>, 0) = 0x7f00; R
  R; mmap(NULL, 4096, PROT_READ|PROT_WRITE, MAP_SHARED, 3</tmp/f>, 0) = 0x7f00"#,
    );
}

#[test]
fn a_fifo_is_no_file() {
    check(
        r#"…; openat(AT_FDCWD</>, "/tmp/q", O_RDWR) = 4</tmp/q>; O; W; read(4</tmp/q>, "x"..., 20) = 20; W => 2→1 a read of a pipe or socket between them
  mknodat(AT_FDCWD</>, "/tmp/q", S_IFIFO|0666) = 0
  newfstatat(AT_FDCWD</>, "/tmp/q", {st_mode=S_IFIFO|0644, st_size=0, ...}, 0) = 0
  statx(AT_FDCWD</>, "/tmp/q", AT_STATX_SYNC_AS_STAT, STATX_ALL, {stx_mask=STATX_ALL, stx_mode=S_IFIFO|0644, stx_size=0, ...}) = 0
  stat("/tmp/q", {st_mode=S_IFIFO|0644, st_size=0, ...}) = 0
O; …; W; read(4</tmp/q>, "x"..., 20) = 20; W => 2→1 a read of a pipe or socket between them
  openat(AT_FDCWD</>, "/tmp/q", O_RDWR) = 4</tmp/q>; fstat(4</tmp/q>, {st_mode=S_IFIFO|0644, st_size=0, ...}) = 0
  newfstatat(4</tmp/q>, "", {st_mode=S_IFIFO|0644, st_size=0, ...}, AT_EMPTY_PATH) = 0
  lseek(4</tmp/q>, 0, SEEK_CUR) = -1 ESPIPE (Illegal seek)
mknodat(AT_FDCWD</>, "/tmp/q", S_IFIFO|0666) = 0; openat(AT_FDCWD</>, "/tmp/q", O_RDWR) = 4</tmp/q>; …
  write(4</tmp/q>, "x"..., 20) = 20; write(4</tmp/q>, "x"..., 900) = 900 => adjacent-writes pipe 2→1 adjacent
  2 × write(4</tmp/q>, "x"..., 3000) = 3000 => -"#,
    );
}

#[test]
fn a_seek_whose_offset_is_used_stays() {
    check(
        r#"O; lseek(3</tmp/f>, 100, SEEK_SET) = 100; W; lseek(3</tmp/f>, 200, SEEK_SET) = 200; W; … => seek-then-transfer file 3→2 the offset is used by more than the next call
  lseek(3</tmp/f>, 0, SEEK_CUR) = 220
  lseek(3</tmp/f>, 10, SEEK_CUR) = 230
  read(3</tmp/f>, ""..., 8) = 8
  sendfile(5<TCP:[1.1.1.1:2->1.1.1.1:3]>, 3</tmp/f>, NULL, 20) = 20
O; lseek(3</tmp/f>, 100, SEEK_SET) = 100; W; lseek(3</tmp/f>, 200, SEEK_SET) = 200; W => seek-then-transfer file 3→2 adjacent
O; lseek(3</tmp/f>, 0, SEEK_SET) = 0; R; W; lseek(3</tmp/f>, 0, SEEK_SET) = 0; R => seek-then-transfer file 3→2 the offset is used
O; R; lseek(3</tmp/f>, 20, SEEK_SET) = 20; W; lseek(3</tmp/f>, 40, SEEK_SET) = 40; R; lseek(3</tmp/f>, 60, SEEK_SET) = 60; W => 2→1 lseek between them | small-reads file 2→1 lseek between them"#,
    );
}

#[test]
fn descriptors_are_known_by_the_text_in_the_log_and_by_what_made_them() {
    check(
        r#"2 × write(1</tmp/x>, "x", 8) = 8 => 2→1 adjacent
2 × write(1</dev/shm/x>, "x", 8) = 8 => 2→1 adjacent
2 × write(1<pipe:[12]>, "x", 8) = 8 => adjacent-writes pipe 2→1 adjacent
2 × write(1<TCP:[127.0.0.1:1->127.0.0.1:2]>, "x", 8) = 8 => adjacent-writes tcp 2→1 adjacent
2 × write(1<TCPv6:[[::1]:1->[::1]:2]>, "x", 8) = 8 => adjacent-writes tcp 2→1 adjacent
2 × write(1<UNIX-STREAM:[12->13]>, "x", 8) = 8 => adjacent-writes unix 2→1 adjacent
2 × write(1<socket:[5]>, "x", 8) = 8 => adjacent-writes unknown 2→1 the log does not say what the descriptor leads to
2 × write 1 8 => adjacent-writes unknown 2→1 the log does not say what the descriptor leads to
socket(AF_INET, SOCK_STREAM, IPPROTO_TCP) = 3; 2 × write 3 8 => adjacent-writes tcp 2→1 adjacent
socket(AF_UNIX, SOCK_STREAM, 0) = 3; 2 × write 3 8 => adjacent-writes unix 2→1 adjacent
socket(AF_UNIX, SOCK_SEQPACKET, 0) = 3; 2 × write 3 8 => -
pipe 3 4; 2 × write 4 8 => adjacent-writes pipe 2→1 adjacent
open 3 a; write 3 8; 2 × write(3<pipe:[1]>, "x", 8) = 8 => adjacent-writes pipe 2→1 adjacent
open 3 link; write(3</dev/tty<char 5:0>>, "x", 8) = 8; write 3 8 => -
open 3 a; exec /bin/x; 2 × write 3 8 => 2→1 adjacent
openat(AT_FDCWD</>, "/a", O_RDWR|O_CREAT|O_CLOEXEC, 0666) = 3; exec /bin/x; 2 × write 3 8 => adjacent-writes unknown 2→1 the log does not say
open 3 a; 2: brk; fork 2; 2 × 2: write 3 8 => 2→1 adjacent
open 3 a; 2: brk; thread 2; 2 × 2: write 3 8 => 2→1 adjacent
openat(AT_FDCWD</>, "/a", O_RDONLY|O_DIRECTORY) = 3; 2 × write 3 8 => -
open 3 /dev/tty; 2 × write 3 8 => -
2 × write(3<…>, "x", 8) = 8; 2 × read(3<…>, "x", 8) = 8 => -
  /dev/pts/3<char 136:3>
  /dev/null<char 1:3>
  /proc/self/status
  /sys/kernel/x
  anon_inode:[eventfd]
  anon_inode:[signalfd]
  anon_inode:inotify
  NETLINK:[ROUTE:1]
  UNIX-SEQPACKET:[1->2]
  /dev/sda<block 8:0>
pipe2([3<pipe:[7]>, 4<pipe:[7]>], …) = 0; 2 × write(4<pipe:[7]>, "x"..., 20) = 20 => -
  O_DIRECT
  0x4000
  0x14000
pipe2([3<pipe:[7]>, 4<pipe:[7]>], …) = 0; 2 × write(4<pipe:[7]>, "x"..., 20) = 20 => adjacent-writes pipe 2→1 adjacent
  O_CLOEXEC
  0x80000
  0"#,
    );
}

#[test]
fn datagrams_are_listed_whatever_their_addresses() {
    check(
        r#"socket(AF_INET, SOCK_DGRAM|SOCK_CLOEXEC, IPPROTO_UDP) = 3<UDP:[7]>; … => datagrams datagram 2→1 each call sends a datagram
  2 × sendto(3<UDP:[7]>, "x"..., 20, 0, {sa_family=AF_INET, sin_port=htons(7), sin_addr=inet_addr("127.0.0.1")}, 16) = 20
  2 × write 3 8
socket(AF_INET, SOCK_DGRAM|SOCK_CLOEXEC, IPPROTO_UDP) = 3<UDP:[7]>; write 3 8; recvfrom(3<UDP:[7]>, "x"..., 20, 0, NULL, NULL) = 20; write 3 8 => datagrams datagram 2→1 a read or write of a terminal, a device
2 × recvfrom(3<UDP:[7]>, "x"..., 20, 0, NULL, NULL) = 20 => -
socket(AF_UNIX, SOCK_DGRAM, 0) = 3<UNIX:[7]>; connect(3<UNIX:[7]>, {sa_family=AF_UNIX, sun_path="/dev/log"}, 110) = 0; 2 × sendto(3<UNIX:[…
  7->8]>, "x"..., 20, 0, NULL, 0) = 20 => datagrams datagram 2→1 each call sends
  70->8]>, "x"..., 20, 0, NULL, 0) = 20 => adjacent-writes unknown 2→1 the log does not say"#,
    );
}

#[test]
fn calls_that_are_short_or_odd_end_a_run() {
    check(
        r#"open 3 a; write 3 8; write(3, "x", 8) = 4; write 3 8 => 2→1 adjacent
open 3 a; write 3 8; write(3, "x", 8) = -1 ENOSPC (No space left on device); write 3 8 => -
open 3 a; write 3 8; write(3, "", 0) = 0; write 3 8 => -
socket(AF_INET, SOCK_STREAM, 0) = 3; …; write 3 8 => -
  2 × sendto(3, "x", 8, MSG_OOB, NULL, 0) = 8
  sendmsg(3, {msg_name=NULL, msg_namelen=0, msg_iov=[{iov_base="x", iov_len=2}], msg_iovlen=1, msg_control=[{cmsg_len=20, cmsg_level=SOL_SOCKET, cmsg_type=SCM_RIGHTS, cmsg_data=[3]}], msg_controllen=24, msg_flags=0}, 0) = 2
socket(AF_INET, SOCK_STREAM, IPPROTO_TCP) = 3<TCP:[7]>; …; write(3<TCP:[7]>, "x", 20) = 20 => adjacent-writes tcp 2→1 MSG_MORE or TCP_CORK
  sendto(3<TCP:[7]>, "x", 8, MSG_MORE, NULL, 0) = 8
  setsockopt(3<TCP:[7]>, SOL_TCP, TCP_CORK, [1], 4) = 0; write(3<TCP:[7]>, "x", 20) = 20
  setsockopt(3<TCP:[7]>, 0x6, 0x3, [1], 4) = 0; write(3<TCP:[7]>, "x", 20) = 20
socket(AF_INET, SOCK_STREAM, IPPROTO_TCP) = 3<TCP:[7]>; setsockopt(3<TCP:[7]>, SOL_TCP, TCP_CORK, [1], 4) = 0; setsockopt(3<TCP:[7]>, SOL_TCP, TCP_CORK, [0], 4) = 0; 2 × write(3<TCP:[7]>, "x", 20) = 20 => adjacent-writes tcp 2→1 adjacent
open 3 a; pwrite64 3 8 100; pwrite64 3 8 108; pwrite64 3 8 300 => positional-writes file 2→1 adjacent
open 3 a; 3000 × write 3 1 => 3000→1 adjacent"#,
    );
}

#[test]
fn a_file_that_is_opened_for_each_record_is_listed() {
    check(
        r#"…; …; … => 3→1 the file is closed and opened again between them
  openat(AT_FDCWD</>, "/a", O_WRONLY|O_CREAT|O_APPEND, 0666) = 3; write 3 8; close 3
  openat(AT_FDCWD</>, "/a", O_WRONLY|O_CREAT|O_APPEND, 0666) = 3; lseek(3, 0, SEEK_END) = 8; write 3 8; close 3
open 3 a; write 3 8; close 3; open 3 a; write 3 8; close 3 => -"#,
    );
}

#[test]
fn transfers_through_a_queue_do_not_show() {
    check(
        r#"O; thread 2; … => 2→1 io_uring or AIO in a process that has it open
  W; io_uring_enter(4<anon_inode:[io_uring]>, 1, 0, 0, NULL, 8) = 1; W
  W; 2: io_submit(0x7f00, 1, [{aio_lio_opcode=IOCB_CMD_PWRITE, aio_fildes=3}]) = 1; W
  io_uring_setup(8, {flags=IORING_SETUP_SQPOLL, sq_entries=8}) = 4<anon_inode:[io_uring]>; W; W
  3: A; 3: io_uring_enter(5, 1, 1, IORING_ENTER_GETEVENTS, NULL, 8) = 1; W; W
  3: io_uring_enter(5, 1, 1, IORING_ENTER_GETEVENTS, NULL, 8) = 1; 3: A; W; W
O; io_uring_setup(8, {flags=0, sq_entries=8}) = 4<anon_inode:[io_uring]>; W; W => 2→1 adjacent"#,
    );
}

#[test]
fn a_child_that_was_waited_for_wrote_before() {
    check(
        r#"O; fork 2; 2: W; 2: W; 2: ended; …; W; W => 4→2 adjacent
  wait4(-1, [{WIFEXITED(s) && WEXITSTATUS(s) == 0}], 0, NULL) = 2
  wait4(-1, NULL, 0, NULL) = 2
  waitid(P_ALL, 0, {si_signo=SIGCHLD, si_code=CLD_EXITED, si_pid=2, si_uid=0}, WEXITED, NULL) = 0
O; fork 2; 2: W; 2: W; 2: ended; …; W; W => 4→2 several threads or processes write to it
  wait4(-1, NULL, WNOHANG, NULL) = 0
  wait4(-1, NULL, 0, NULL) = -1 ECHILD (No child processes)
  wait4(-1, NULL, 0, NULL) = 3
  poll([], 0, 1) = 0 (Timeout)"#,
    );
}

#[test]
fn what_another_process_looks_at_is_not_counted() {
    check(
        r#"fork 2; O; …; W; W => 4→2 another thread or process reads the file, or asks for its size
  W; W; 2: newfstatat(5</tmp/f>, "", {st_size=20}, AT_EMPTY_PATH) = 0
  W; W; 2: statx(5</tmp/f>, "", AT_EMPTY_PATH, STATX_ALL, {stx_size=20}) = 0
  W; W; 2: stat("/tmp/f", {st_size=20}) = 0
  W; W; 2: read(5</tmp/f>, "", 4096) = 0
  link("/tmp/f", "/tmp/g") = 0; W; W; 2: stat("/tmp/g", {st_size=20}) = 0
  symlinkat("f", 7</tmp>, "g") = 0; W; W; 2: newfstatat(7</tmp>, "g", {st_size=20}, 0) = 0
  W; W; 2: newfstatat(AT_FDCWD</>, "/proc/1/fd/3", {st_size=20}, 0) = 0
  W; W; 2: stat("/proc/1/task/1/fd/3", {st_size=20}) = 0
fork 2; O; fstat(3</tmp/f>, {st_dev=makedev(0x8, 0x1), st_ino=7, st_mode=S_IFREG|0644, st_size=20, ...}) = 0; W; W; …; W; W => 4→2 another thread or process reads the file, or asks for its size
  2: stat("/srv/g", {st_dev=makedev(0x8, 0x1), st_ino=7, st_size=20, ...}) = 0
  2: statx(AT_FDCWD</>, "g", 0, STATX_ALL, {stx_ino=7, stx_size=20, stx_dev_major=8, stx_dev_minor=1}) = 0
  2: openat(AT_FDCWD</>, "/tmp/f", O_RDONLY|O_PATH) = 5</tmp/f>; 2 × 2: fstat(5</tmp/f>, {st_size=20}) = 0
  2: openat(AT_FDCWD</>, "/srv/g", O_RDONLY) = 5</srv/g>; 2 × 2: fstat(5</srv/g>, {st_dev=makedev(0x8, 0x1), st_ino=7, st_mode=S_IFREG|0644, st_size=20, ...}) = 0
fork 2; O; fstat(3</tmp/f>, {st_dev=makedev(0x8, 0x1), st_ino=7, st_mode=S_IFREG|0644, st_size=20, ...}) = 0; W; W; …; W; W => 4→1 adjacent
  2: stat("/srv/g", {st_dev=makedev(0x8, 0x2), st_ino=7, st_size=20, ...}) = 0
  2: fstat(5</tmp/h>, {st_size=20}) = 0
  2: openat(AT_FDCWD</>, "/tmp/f", O_RDONLY) = 5</tmp/f>
fork 2; O; …; W; W => 4→1 adjacent
  rename("/tmp/f", "/tmp/g") = 0; W; W; 2: stat("/tmp/g", {st_size=20}) = 0
fork 2; O; W; W; 2: fstat(5, {st_size=20}) = 0; W; W => 4→2 adjacent
O; W; W; fstat(3</tmp/f>, {st_size=20}) = 0; W; W => 4→2 adjacent
fork 2; openat(AT_FDCWD, "f", O_WRONLY|O_CREAT) = 3; rename("f", "g") = 0; write 3 20; 2: stat("g", {st_size=20}) = 0; write 3 20 => 2→1 another thread or process reads the file
O; A; thread 2; W; …; W => 2→1 another thread or process reads the file, or asks for its size
  2: sendfile(5<TCP:[1.1.1.1:2->1.1.1.1:3]>, 4</tmp/f>, [0] => [20], 20) = 20
  2: splice(4</tmp/f>, [0], 5<pipe:[9]>, NULL, 20, 0) = 20
  2: copy_file_range(4</tmp/f>, [0], 5</tmp/g>, NULL, 20, 0) = 20
fork 2; write(2</tmp/f>, "x", 8) = 8; write(2</tmp/f>, "x", 8) = 8; …; exit => 2→1 another thread or process uses the same file or descriptor
  2: ftruncate(2</tmp/f>, 8) = 0
  2: fchmod(2</tmp/f>, 0600) = 0
O; linkat(AT_FDCWD</>, "/tmp/f", AT_FDCWD</>, "/tmp/g", 0) = 0; openat(AT_FDCWD</>, "/tmp/g", O_RDWR) = 4</tmp/g>; W; read(4</tmp/g>, "x"..., 20) = 20; W => 2→1 a use of the same file through another descriptor
O; openat(AT_FDCWD</>, "/tmp/g", O_RDWR) = 4</tmp/g>; W; read(4</tmp/g>, "x"..., 20) = 20; W => 2→1 harmless-between"#,
    );
}

#[test]
fn what_is_watched_is_not_counted() {
    check(
        r#"O; …; 4 × W => 4→1 inotify or fanotify watches it: each write is an event
  2: inotify_add_watch(4<anon_inode:inotify>, "/tmp", IN_MODIFY|IN_CREATE) = 1
  2: inotify_add_watch(4<anon_inode:inotify>, "/tmp/f", IN_ACCESS|IN_MODIFY) = 1
  2: inotify_add_watch(4<anon_inode:inotify>, ".", 0xfff) = 1
  2: fanotify_mark(4, FAN_MARK_ADD|FAN_MARK_MOUNT, FAN_MODIFY, AT_FDCWD, "/") = 0
  2: fanotify_mark(4, FAN_MARK_ADD, FAN_MODIFY, AT_FDCWD</>, "/tmp/f") = 0
O; …; 4 × W => 4→1 adjacent
  2: inotify_add_watch(4<anon_inode:inotify>, "/tmp", IN_CREATE) = 1
  2: inotify_add_watch(4<anon_inode:inotify>, "/srv", IN_MODIFY) = 1
openat(AT_FDCWD</>, "/tmp", O_RDONLY|O_PATH) = 9</tmp>; …; O; 4 × W => 4→1 inotify or fanotify watches it
  fcntl(9</tmp>, F_NOTIFY, DN_MODIFY|DN_MULTISHOT) = 0
  inotify_add_watch(4, "/proc/self/fd/9", IN_MODIFY) = 1
  chdir("/tmp") = 0; inotify_add_watch(4, "../tmp/f", IN_MODIFY) = 1"#,
    );
}

#[test]
fn a_file_that_announces_what_is_in_a_pipe_is_looked_at() {
    check(
        r#"pipe2([3<pipe:[7]>, 4<pipe:[7]>], 0) = 0; openat(AT_FDCWD</>, "/tmp/s", O_RDWR|O_CREAT|O_EXCL, 0666) = 6</tmp/s>; fork 2; write(4<pipe:[7]>, "x", 20) = 20; …; write(4<pipe:[7]>, "x", 20) = 20 => adjacent-writes pipe 2→1 another thread or process looks at a file that is written between them
  pwrite64(6</tmp/s>, "x"..., 8, 0) = 8; 2: pread64(6</tmp/s>, "x"..., 8, 0) = 8
  write(6</tmp/s>, "x"..., 8) = 8; 2: stat("/tmp/s", {st_size=8}) = 0
pipe2([3<pipe:[7]>, 4<pipe:[7]>], 0) = 0; openat(AT_FDCWD</>, "/tmp/s", O_RDWR|O_CREAT|O_EXCL, 0666) = 6</tmp/s>; fork 2; write(4<pipe:[7]>, "x", 20) = 20; write(6</tmp/s>, "x"..., 8) = 8; write(4<pipe:[7]>, "x", 20) = 20 => adjacent-writes pipe 2→1 harmless-between"#,
    );
}

#[test]
fn a_file_that_is_asked_for_again_or_in_vain_may_be_an_answer() {
    check(
        r#"pipe2([7<pipe:[7]>, 8<pipe:[7]>], 0) = 0; O; write(8<pipe:[7]>, "x", 8) = 8; …; write(8<pipe:[7]>, "x", 8) = 8 => adjacent-writes pipe 2→1 open, stat or read of a file again or in vain between them
  access("a", F_OK) = -1 ENOENT (No such file or directory)
  openat(AT_FDCWD</>, "a", O_RDONLY) = -1 ENOENT (No such file or directory)
  stat("a", 0x7ffe) = -1 ENOENT (No such file or directory)
  faccessat2(AT_FDCWD</>, "a", F_OK, AT_EACCESS) = -1 ENOENT (No such file or directory)
  readlink("a", 0x7ffe, 64) = -1 ENOENT (No such file or directory)
  mkdir("a", 0777) = -1 ENOENT (No such file or directory)
  access("a", F_OK) = 0; access("a", F_OK) = 0
  stat("a", {st_size=20}) = 0; stat("a", {st_size=20}) = 0
  2 × openat(AT_FDCWD</>, "a", O_RDONLY) = 4</a>
  2: openat(AT_FDCWD</>, "a", O_WRONLY|O_CREAT, 0666) = 5</a>; stat("a", {st_size=20}) = 0
  openat(AT_FDCWD</>, "/a", O_RDONLY) = 9</a>; 2 × fstat(9</a>, {st_mode=S_IFREG|0644, st_size=1}) = 0; close(9</a>) = 0
  2 × read(3</tmp/f>, "", 1) = 0
  2 × pread64(3</tmp/f>, "x"..., 8, 0) = 8
  openat(AT_FDCWD</>, "/d", O_RDONLY|O_DIRECTORY) = 9</d>; lseek(9</d>, 0, SEEK_SET) = 0
pipe2([7<pipe:[7]>, 8<pipe:[7]>], 0) = 0; O; write(8<pipe:[7]>, "x", 8) = 8; …; write(8<pipe:[7]>, "x", 8) = 8 => adjacent-writes pipe 2→1 harmless-between
  access("a", F_OK) = 0
  stat("a", {st_size=20}) = 0
  openat(AT_FDCWD</>, "a", O_RDONLY) = 4</a>
  2 × stat("/etc/localtime", {st_size=20}) = 0
  openat(AT_FDCWD</>, "/a", O_RDONLY) = 9</a>; fstat(9</a>, {st_size=1}) = 0; close(9</a>) = 0; openat(AT_FDCWD</>, "/b", O_RDONLY) = 9</b>; fstat(9</b>, {st_size=1}) = 0; close(9</b>) = 0"#,
    );
}

#[test]
fn reads_of_a_stream_that_one_thread_has_are_counted_and_all_others_are_listed() {
    check(
        r#"socket(AF_INET, SOCK_STREAM, IPPROTO_TCP) = 3; … => small-reads tcp 3→1 reads-ahead
  3 × read 3 1
  fcntl(3, F_SETFD, FD_CLOEXEC) = 0; 3 × read 3 1; fork 2
socket(AF_INET, SOCK_STREAM, IPPROTO_TCP) = 3; … => small-reads tcp 3→1 several threads or processes read the stream
  3 × read 3 1; fork 2
  fork 2; 3 × read 3 1
  thread 2; 3 × read 3 1; 2: read 3 1
3 × read(3<pipe:[7]>, "x", 1) = 1 => small-reads pipe 3→1 open before the log began
socket(AF_UNIX, SOCK_STREAM, 0) = 6; 3 × read 6 1; recvmsg(6, {msg_name=NULL, msg_namelen=0, msg_iov=[{iov_base="x", iov_len=2}], msg_iovlen=1, msg_control=[{cmsg_len=20, cmsg_level=SOL_SOCKET, cmsg_type=SCM_RIGHTS, cmsg_data=[3]}], msg_controllen=24, msg_flags=0}, 0) = 2 => small-reads unix 3→1 descriptors or credentials came with
pipe2([3<pipe:[7]>, 4<pipe:[7]>], 0) = 0; … => small-reads pipe 3→1 several threads or processes read the stream
  openat(AT_FDCWD</>, "/dev/fd/3", O_RDONLY) = 5<pipe:[7]>; 3 × read(5<pipe:[7]>, "x", 1) = 1
  3 × read(3<pipe:[7]>, "x", 1) = 1; thread 2; 7: read(9<pipe:[7]>, "x", 64) = 64
  socket(AF_UNIX, SOCK_STREAM, 0) = 6; 3 × read(3<pipe:[7]>, "x", 1) = 1; sendmsg(6, {msg_name=NULL, msg_namelen=0, msg_iov=[{iov_base="x", iov_len=2}], msg_iovlen=1, msg_control=[{cmsg_len=20, cmsg_level=SOL_SOCKET, cmsg_type=SCM_RIGHTS, cmsg_data=[3]}], msg_controllen=24, msg_flags=0}, 0) = 2
pipe2([3<pipe:[7]>, 4<pipe:[7]>], 0) = 0; openat(AT_FDCWD</>, "/dev/fd/3", O_RDONLY) = 5<pipe:[7]>; … => small-reads pipe 6→2 several threads or processes read the stream
  3 × read(3<pipe:[7]>, "x", 1) = 1; 3 × read(5<pipe:[7]>, "x", 1) = 1
  3 × read(5<pipe:[7]>, "x", 1) = 1; 3 × read(3<pipe:[7]>, "x", 1) = 1
pipe2([3<pipe:[7]>, 4<pipe:[7]>], 0) = 0; write(4<pipe:[7]>, "x", 8) = 8; 3 × read(3<pipe:[7]>, "x", 1) = 1 => small-reads pipe 3→1 reads-ahead"#,
    );
}

#[test]
fn who_writes_to_another_reader_does_not_wake_itself() {
    check(
        r#"pipe2([3<pipe:[7]>, 4<pipe:[7]>], 0) = 0; fork 2; write(4<pipe:[7]>, "x", 1) = 1; read(3<pipe:[7]>, "x", 16) = 1; 4 × 2: write(4<pipe:[7]>, "x", 1) = 1 => adjacent-writes pipe 4→1 the same process reads the other end
pipe2([3<pipe:[7]>, 4<pipe:[7]>], 0) = 0; write(4<pipe:[7]>, "x", 1) = 1; read(3<pipe:[7]>, "x", 16) = 1; fork 2; 4 × 2: write(4<pipe:[7]>, "x", 1) = 1 => adjacent-writes pipe 4→1 the same process reads the other end
accept4(4<UNIX-STREAM:[5,"/s"]>, NULL, NULL, 0) = 3<UNIX-STREAM:[7->8]>; read(3<UNIX-STREAM:[7->8]>, "x", 16) = 1; 4 × write(3<UNIX-STREAM:[7->8]>, "x", 1) = 1 => adjacent-writes unix 4→1 adjacent"#,
    );
}

#[test]
fn positional_calls_of_a_database_library_are_not_counted() {
    check(
        r#"…; pwrite64 3 8 0; pwrite64 3 8 8 => positional-writes file 2→1 a database library of the process
  exec /usr/bin/python3; open 9 /usr/lib/_sqlite3.cpython-311-x86_64-linux-gnu.so; open 3 data
  exec /usr/bin/node; open 9 build/Release/better_sqlite3.node; open 3 data
  exec /usr/bin/perl; open 9 auto/DBD/SQLite/SQLite.so; open 3 t.db
  exec /usr/bin/tool; open 9 /lib/libsqlite3.so.0.8.6; open 3 t.db-journal
…; pwrite64 3 8 0; pwrite64 3 8 8 => positional-writes file 2→1 adjacent
  exec /usr/bin/python3; open 9 /usr/lib/sqlite3/dbapi2.py; open 3 data
  exec /usr/bin/tool; open 9 /lib/libsqlite3.so.0.8.6; open 3 data
  exec /usr/bin/tool; open 9 /lib/libc.so.6; open 3 t.db
  exec /usr/bin/node; open 9 better_sqlite3.node; exec /usr/bin/node; open 3 data
exec /usr/bin/node; open 9 better_sqlite3.node; open 3 data; fork 2; 2: pwrite64 3 8 0; 2: pwrite64 3 8 8 => positional-writes file 2→1 a database library
exec /usr/bin/node; open 9 better_sqlite3.node; open 3 data; 2 × write 3 8 => 2→1 adjacent"#,
    );
}

#[test]
fn threads_that_strace_was_attached_to_are_taken_for_one_process() {
    for (text, target) in [
        ("TCP:[127.0.0.1:1->127.0.0.1:2]", "adjacent-writes tcp "),
        ("UNIX-STREAM:[12->13]", "adjacent-writes unix "),
        ("pipe:[12]", "adjacent-writes pipe "),
        ("/srv/app.log", ""),
    ] {
        let write = format!("write(6<{text}>, \"x\", 8) = 8");
        let in_turn = [&*write, &format!("2: {write}")].repeat(3).join("; ");
        check(&format!(
            "{in_turn} => {target}6→1 several threads or processes write to it"
        ));
        let apart = format!("2 × {write}; 2 × 2: {write}");
        check(&format!(
            "{apart} => {target}4→2 several threads or processes write to it"
        ));
        assert_eq!(tallies_of(&log_in_short(&in_turn)).processes, 1);
    }
    check(
        r#"write(6</a>, "x", 8) = 8; 2: lseek(6</a>, 800, SEEK_SET) = 800; write(6</a>, "x", 8) = 8 => 2→1 another thread or process uses the same offset"#,
    );
    // It has the same descriptor as the process that turns out to be its own.
    let late = log_in_short(
        "write(3</a>, \"x\", 8) = 8; 2: write(3</a>, \"x\", 8) = 8; thread 2; 2: write(3</a>, \"x\", 8) = 8",
    );
    assert_eq!(tallies_of(&late).processes, 1);
}

/// The first overwrite of a file also ends the runs of others if the log shows that the file has bytes there.
#[test]
fn a_file_is_known_to_have_what_was_read_and_what_its_size_says() {
    let rows = "2 × write 3 8";
    let rest = format!(
        "{rows}; seek 4 64; {rows}; write 4 9; {rows}; seek 4 0; {rows}; write 4 9; {rows}; brk"
    );
    for (before, expected) in [
        ("brk", 2),
        ("pread64 4 64 0", 2),
        ("pread64 4 70 0", 3),
        ("lseek(4, 0, SEEK_END) = 70", 3),
        ("fstat(4, {st_mode=S_IFREG|0644, st_size=70, ...}) = 0", 3),
        ("open 5 /a/table; pwrite64 5 70 0", 3),
    ] {
        let log = log_in_short(&format!(
            "open 3 /a/rows; open 4 /a/table; {before}; {rest}"
        ));
        let tallies = tallies_of(&log).findings.into_values();
        let of_rows = tallies.filter(|tally| tally.path.as_deref() == Some("/a/rows"));
        let merged: u64 = of_rows.map(|tally| tally.merged_calls).sum();
        assert_eq!(merged, expected, "{before}");
    }
}
