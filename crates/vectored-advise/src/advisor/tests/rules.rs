//! Rules of what is counted and what is listed, for calls that the programs of the model do not make.

use crate::advisor::tests::logs::*;
use crate::advisor::{Options, Seen};

#[test]
fn the_arguments_of_a_call_decide_whether_it_is_a_barrier() {
    check(
        r#"O; W; …; W => 2→1 harmless-between
  fcntl(3</tmp/f>, F_GETFL) = 0x8001 (flags O_WRONLY|O_LARGEFILE)
  ioctl(3</tmp/f>, TCGETS, 0x7ffe) = -1 ENOTTY (Inappropriate ioctl for device)
  ioctl(1</dev/pts/0<char 136:0>>, TIOCGWINSZ, {ws_row=24, ws_col=80, ws_xpixel=0, ws_ypixel=0}) = 0
  openat(AT_FDCWD</>, "/tmp/x", O_RDONLY) = 4</tmp/x>; close(4</tmp/x>) = 0
O; W; getpid() = 1; W => 2→1 adjacent
O; W; ioctl(3</tmp/f>, FIONREAD, [0]) = 0; W => 2→1 ioctl, setsockopt, ftruncate or the like between them
O; W; lseek(3</tmp/f>, 0, SEEK_DATA) = 0; W => 2→1 lseek(SEEK_END), statfs or the like between them
O; W; creat("/tmp/done", 0666) = 4</tmp/done>; W => 2→1 an open that creates or empties another file between them
openat(AT_FDCWD</>, "/tmp/lock", O_RDWR) = 4</tmp/lock>; O; flock(4</tmp/lock>, LOCK_EX) = 0; W; close(4</tmp/lock>) = 0; W => 2→1 fcntl or a lock
open 3 a; open 4 a; open 5 b; fcntl(3, F_SETLK, {l_type=F_WRLCK, l_start=0, l_len=0}) = 0; write 5 8; close 4; write 5 8 => 2→1 fcntl or a lock
openat(AT_FDCWD</>, "/a", O_WRONLY|O_SYNC) = 3; 2 × write 3 8 => 2→1 O_SYNC or O_DSYNC
open 3 a; 2 × read 3 4096; read(3, "x", 4096) = 100; read(3, "", 4096) = 0 => small-reads file 3→1 adjacent
open 3 a; 2 × read 3 65536; read 3 8 => -
O; R; sendfile(5<TCP:[1.1.1.1:2->1.1.1.1:3]>, 3</tmp/f>, NULL, 20) = 20; R => -
A; mmap(NULL, 4096, PROT_READ, MAP_SHARED, 4</tmp/f>, 0) = 0x7f00; close(4</tmp/f>) = 0; O; W; W => 2→1 the file is mapped into memory
O; …; W; W => 2→1 adjacent
  mmap(NULL, 8, PROT_READ, MAP_PRIVATE|MAP_ANONYMOUS, -1, 0) = 0x7f00
  mmap(NULL, 8, PROT_READ, MAP_SHARED, 3</tmp/f>, 0) = -1 ENODEV (No such device)
O; mmap(NULL, 4096, PROT_READ|PROT_WRITE, MAP_PRIVATE, 3</tmp/f>, 0) = 0x7f00; R; R => small-reads file 2→1 adjacent"#,
    );
}

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
fn descriptors_are_known_by_the_text_in_the_log_and_by_what_made_them() {
    check(
        r#"2 × write(1</dev/shm/x>, "x", 8) = 8 => 2→1 adjacent
2 × write(1<pipe:[12]>, "x", 8) = 8 => adjacent-writes pipe 2→1 adjacent
2 × write(1<TCPv6:[[::1]:1->[::1]:2]>, "x", 8) = 8 => adjacent-writes tcp 2→1 adjacent
2 × write(1<UNIX-STREAM:[12->13]>, "x", 8) = 8 => adjacent-writes unix 2→1 adjacent
2 × write(1<socket:[5]>, "x", 8) = 8 => adjacent-writes unknown 2→1 the log does not say what the descriptor leads to
2 × write 1 8 => adjacent-writes unknown 2→1 the log does not say what the descriptor leads to
socket(AF_INET, SOCK_STREAM, IPPROTO_TCP) = 3; 2 × write 3 8 => adjacent-writes tcp 2→1 adjacent
socket(AF_UNIX, SOCK_STREAM, 0) = 3; 2 × write 3 8 => adjacent-writes unix 2→1 adjacent
socket(AF_UNIX, SOCK_SEQPACKET, 0) = 3; 2 × write 3 8 => -
open 3 a; write 3 8; 2 × write(3<pipe:[1]>, "x", 8) = 8 => adjacent-writes pipe 2→1 adjacent
open 3 link; write(3</dev/tty<char 5:0>>, "x", 8) = 8; write 3 8 => -
open 3 a; exec /bin/x; 2 × write 3 8 => 2→1 adjacent
openat(AT_FDCWD</>, "/a", O_RDWR|O_CREAT|O_CLOEXEC, 0666) = 3; exec /bin/x; 2 × write 3 8 => adjacent-writes unknown 2→1 the log does not say
open 3 a; 2: brk; thread 2; 2 × 2: write 3 8 => 2→1 adjacent
openat(AT_FDCWD</>, "/a", O_RDONLY|O_DIRECTORY) = 3; 2 × write 3 8 => -
2 × write(3<…>, "x", 8) = 8; 2 × read(3<…>, "x", 8) = 8 => -
  /dev/pts/3<char 136:3>
  /proc/self/status
  anon_inode:[eventfd]
  NETLINK:[ROUTE:1]
  UNIX-SEQPACKET:[1->2]
  /dev/sda<block 8:0>
pipe2([3<pipe:[7]>, 4<pipe:[7]>], O_DIRECT) = 0; 2 × write(4<pipe:[7]>, "x"..., 20) = 20 => -
socket(AF_INET, SOCK_DGRAM|SOCK_CLOEXEC, IPPROTO_UDP) = 3<UDP:[7]>; 2 × sendto(3<UDP:[7]>, "x"..., 20, 0, {sa_family=AF_INET}, 16) = 20 => datagrams datagram 2→1 each call sends a datagram
2 × recvfrom(3<UDP:[7]>, "x"..., 20, 0, NULL, NULL) = 20 => -
socket(AF_UNIX, SOCK_DGRAM, 0) = 3<UNIX:[7]>; 2 × sendto(3<UNIX:[…
  7->8]>, "x"..., 20, 0, NULL, 0) = 20 => datagrams datagram 2→1 each call sends
  70->8]>, "x"..., 20, 0, NULL, 0) = 20 => adjacent-writes unknown 2→1 the log does not say
mknodat(AT_FDCWD</>, "/tmp/q", S_IFIFO|0666) = 0; openat(AT_FDCWD</>, "/tmp/q", O_RDWR) = 4</tmp/q>; O; W; read(4</tmp/q>, "x"..., 20) = 20; W => 2→1 a read of a pipe or socket between them
O; openat(AT_FDCWD</>, "/tmp/q", O_RDWR) = 4</tmp/q>; …; W; read(4</tmp/q>, "x"..., 20) = 20; W => 2→1 a read of a pipe or socket between them
  newfstatat(4</tmp/q>, "", {st_mode=S_IFIFO|0644, st_size=0, ...}, AT_EMPTY_PATH) = 0
  lseek(4</tmp/q>, 0, SEEK_CUR) = -1 ESPIPE (Illegal seek)"#,
    );
}

#[test]
fn calls_that_are_short_or_odd_end_a_run() {
    check(
        r#"open 3 a; write 3 8; write(3, "x", 8) = 4; write 3 8 => 2→1 adjacent
open 3 a; write 3 8; write(3, "x", 8) = -1 ENOSPC (No space left on device); write 3 8 => -
socket(AF_INET, SOCK_STREAM, 0) = 3; …; write 3 8 => -
  2 × sendto(3, "x", 8, MSG_OOB, NULL, 0) = 8
  sendmsg(3, {msg_name=NULL, msg_namelen=0, msg_iov=[{iov_base="x", iov_len=2}], msg_iovlen=1, msg_control=[{cmsg_len=20, cmsg_level=SOL_SOCKET, cmsg_type=SCM_RIGHTS, cmsg_data=[3]}], msg_controllen=24, msg_flags=0}, 0) = 2
socket(AF_INET, SOCK_STREAM, IPPROTO_TCP) = 3<TCP:[7]>; sendto(3<TCP:[7]>, "x", 8, MSG_MORE, NULL, 0) = 8; write(3<TCP:[7]>, "x", 20) = 20 => adjacent-writes tcp 2→1 MSG_MORE or TCP_CORK
socket(AF_INET, SOCK_STREAM, IPPROTO_TCP) = 3<TCP:[7]>; setsockopt(3<TCP:[7]>, SOL_TCP, TCP_CORK, [1], 4) = 0; setsockopt(3<TCP:[7]>, SOL_TCP, TCP_CORK, [0], 4) = 0; 2 × write(3<TCP:[7]>, "x", 20) = 20 => adjacent-writes tcp 2→1 adjacent
open 3 a; list 3 1024 900; list 3 1024 900; list 3 10 900 => -
…; …; … => 3→1 the file is closed and opened again between them
  openat(AT_FDCWD</>, "/a", O_WRONLY|O_CREAT|O_APPEND, 0666) = 3; lseek(3, 0, SEEK_END) = 8; write 3 8; close 3
open 3 a; write 3 8; close 3; open 3 a; write 3 8; close 3 => -
O; thread 2; … => 2→1 io_uring or AIO in a process that has it open
  W; io_uring_enter(4<anon_inode:[io_uring]>, 1, 0, 0, NULL, 8) = 1; W
  W; 2: io_submit(0x7f00, 1, [{aio_lio_opcode=IOCB_CMD_PWRITE, aio_fildes=3}]) = 1; W
  io_uring_setup(8, {flags=IORING_SETUP_SQPOLL, sq_entries=8}) = 4<anon_inode:[io_uring]>; W; W
  3: io_uring_enter(5, 1, 1, IORING_ENTER_GETEVENTS, NULL, 8) = 1; 3: A; W; W"#,
    );
}

#[test]
fn patterns_are_periods_or_sets() {
    check(
        r#"open 3 a; …
  write 3 8; write 3 4096; write 3 8; write 3 4096; write 3 8 => steps write 4, write 13
  3 × write 3 8; write 3 1 => steps write 4
  2 × write 3 1; write 3 8; 2 × write 3 1; write 3 8 => steps write 1, write 1, write 4
  write 3 8; 2 × write 3 1; 2 × write 3 8; write 3 1 => steps write
  100 × write 3 8; write 3 9; write 3 700 => steps write 4"#,
    );
    let long = ["write 3 100; 39 × write 3 8"].repeat(12).join("; ");
    check(&format!("open 3 a; {long} => steps write"));
    // A loop that is cut at any place.
    let step = |place: usize| format!("; seek 3 {}; write 3 {}", place * 1000, [8, 300][place % 2]);
    let [one, other] = [0..21, 1..22].map(|places| places.map(step).collect::<String>());
    let tallies = tallies_of(&format!(
        "open 3 /d{one}; open 4 /e; futex(0x7f, FUTEX_WAKE_PRIVATE, 1) = 0; close 3; open 3 /d{other}"
    ));
    assert_eq!(tallies.found.len(), 1);
    assert_eq!(
        tallies.found.into_values().next().unwrap().starts,
        [1, 0, 1, 0]
    );
    // Records that are read after a seek to the present offset.
    let update = |place: u64| format!("seek 3 {0}; read 3 16; seek 3 {0}; write 3 16", 16 * place);
    let record = |place: u64| format!("seek 3 {}; 2 × read 3 4; read 3 8", 16 * place);
    let updates = [9, 3, 7, 1].map(update).join("; ");
    let records = [0, 1, 2].map(record).join("; ");
    check(&format!(
        "open 3 a; {updates}; close 3; openat(AT_FDCWD, \"a\", O_RDONLY) = 3; {records} => says lseek (2 times): 3 calls instead of 9"
    ));
}

#[test]
fn what_another_process_looks_at_is_not_counted() {
    check(
        r#"O; fork 2; 2: W; 2: W; 2: ended; wait4(-1, NULL, 0, NULL) = 2; W; W => 4→2 adjacent
O; fork 2; 2: W; 2: W; 2: ended; wait4(-1, NULL, WNOHANG, NULL) = 0; W; W => 4→2 several threads or processes write to it
fork 2; O; …; W; W => 4→2 another thread or process reads the file, or asks for its size
  symlinkat("f", 7</tmp>, "g") = 0; W; W; 2: newfstatat(7</tmp>, "g", {st_size=20}, 0) = 0
  W; W; 2: newfstatat(AT_FDCWD</>, "/proc/1/fd/3", {st_size=20}, 0) = 0
fork 2; O; fstat(3</tmp/f>, {st_dev=makedev(0x8, 0x1), st_ino=7, st_mode=S_IFREG|0644, st_size=20, ...}) = 0; W; W; …; W; W => 4→2 another thread or process reads the file, or asks for its size
  2: stat("/srv/g", {st_dev=makedev(0x8, 0x1), st_ino=7, st_size=20, ...}) = 0
  2: openat(AT_FDCWD</>, "/srv/g", O_RDONLY) = 5</srv/g>; 2 × 2: fstat(5</srv/g>, {st_dev=makedev(0x8, 0x1), st_ino=7, st_mode=S_IFREG|0644, st_size=20, ...}) = 0
fork 2; O; fstat(3</tmp/f>, {st_dev=makedev(0x8, 0x1), st_ino=7, st_mode=S_IFREG|0644, st_size=20, ...}) = 0; W; W; 2: stat("/srv/g", {st_dev=makedev(0x8, 0x2), st_ino=7, st_size=20, ...}) = 0; W; W => 4→1 adjacent
O; fork 2; W; 2: fstat(9) = 0; W => 2→1 stat between them, which may see the file's size
fork 2; O; link("/x/g", "/y/f") = 0; W; 2: stat("/tmp/f", {st_size=20}) = 0; W => 2→1 another thread or process reads the file
fork 2; O; close(3</tmp/f>) = 0; link("/x/g", "/y/f") = 0; O; W; 2: stat("/tmp/f", {st_size=20}) = 0; W => 2→1 another thread or process reads the file
fork 2; O; openat(AT_FDCWD</>, "/tmp/g", O_RDONLY) = 4</tmp/g>; rename("/tmp/g", "/tmp/f") = 0; W; 2: stat("/tmp/f", {st_size=20}) = 0; W => 2→1 adjacent
O; A; thread 2; W; 2: copy_file_range(4</tmp/f>, [0], 5</tmp/g>, NULL, 20, 0) = 20; W => 2→1 another thread or process reads the file, or asks for its size
fork 2; write(2</tmp/f>, "x", 8) = 8; write(2</tmp/f>, "x", 8) = 8; 2: fchmod(2</tmp/f>, 0600) = 0; exit => 2→1 another thread or process uses the same file or descriptor
O; …; 4 × W => 4→1 inotify or fanotify watches it: each write is an event
  2: inotify_add_watch(4<anon_inode:inotify>, "/tmp", IN_MODIFY|IN_CREATE) = 1
  2: inotify_add_watch(4<anon_inode:inotify>, ".", 0xfff) = 1
  2: fanotify_mark(4, FAN_MARK_ADD|FAN_MARK_MOUNT, FAN_MODIFY, AT_FDCWD, "/") = 0
O; 2: inotify_add_watch(4<anon_inode:inotify>, "/tmp", IN_CREATE) = 1; 4 × W => 4→1 adjacent
openat(AT_FDCWD</>, "/tmp", O_RDONLY|O_PATH) = 9</tmp>; …; O; 4 × W => 4→1 inotify or fanotify watches it
  fcntl(9</tmp>, F_NOTIFY, DN_MODIFY|DN_MULTISHOT) = 0
  inotify_add_watch(4, "/proc/self/fd/9", IN_MODIFY) = 1
  chdir("/tmp") = 0; inotify_add_watch(4, "../tmp/f", IN_MODIFY) = 1
pipe2([7<pipe:[7]>, 8<pipe:[7]>], 0) = 0; O; write(8<pipe:[7]>, "x", 8) = 8; …; write(8<pipe:[7]>, "x", 8) = 8 => adjacent-writes pipe 2→1 open, stat or read of a file again or in vain between them
  readlink("a", 0x7ffe, 64) = -1 ENOENT (No such file or directory)
  2 × openat(AT_FDCWD</>, "a", O_RDONLY) = 4</a>
  openat(AT_FDCWD</>, "/a", O_RDONLY) = 9</a>; 2 × fstat(9</a>, {st_mode=S_IFREG|0644, st_size=1}) = 0; close(9</a>) = 0
  2 × pread64(3</tmp/f>, "x"..., 8, 0) = 8
  openat(AT_FDCWD</>, "/d", O_RDONLY|O_DIRECTORY) = 9</d>; lseek(9</d>, 0, SEEK_SET) = 0
pipe2([7<pipe:[7]>, 8<pipe:[7]>], 0) = 0; O; write(8<pipe:[7]>, "x", 8) = 8; 2 × stat("/etc/localtime", {st_size=20}) = 0; write(8<pipe:[7]>, "x", 8) = 8 => adjacent-writes pipe 2→1 harmless-between"#,
    );
}

#[test]
fn streams_that_others_may_have_are_listed() {
    check(
        r#"socket(AF_INET, SOCK_STREAM, IPPROTO_TCP) = 3; fcntl(3, F_SETFD, FD_CLOEXEC) = 0; 3 × read 3 1; fork 2 => small-reads tcp 3→1 reads-ahead
socket(AF_INET, SOCK_STREAM, IPPROTO_TCP) = 3; thread 2; 3 × read 3 1; 2: read 3 1 => small-reads tcp 3→1 several threads or processes read the stream
socket(AF_UNIX, SOCK_STREAM, 0) = 6; 3 × read 6 1; recvmsg(6, {msg_name=NULL, msg_namelen=0, msg_iov=[{iov_base="x", iov_len=2}], msg_iovlen=1, msg_control=[{cmsg_len=20, cmsg_level=SOL_SOCKET, cmsg_type=SCM_RIGHTS, cmsg_data=[3]}], msg_controllen=24, msg_flags=0}, 0) = 2 => small-reads unix 3→1 descriptors or credentials came with
pipe2([3<pipe:[7]>, 4<pipe:[7]>], 0) = 0; … => small-reads pipe 3→1 several threads or processes read the stream
  openat(AT_FDCWD</>, "/dev/fd/3", O_RDONLY) = 5<pipe:[7]>; 3 × read(5<pipe:[7]>, "x", 1) = 1
  3 × read(3<pipe:[7]>, "x", 1) = 1; thread 2; 7: read(9<pipe:[7]>, "x", 64) = 64
  socket(AF_UNIX, SOCK_STREAM, 0) = 6; 3 × read(3<pipe:[7]>, "x", 1) = 1; sendmsg(6, {msg_name=NULL, msg_namelen=0, msg_iov=[{iov_base="x", iov_len=2}], msg_iovlen=1, msg_control=[{cmsg_len=20, cmsg_level=SOL_SOCKET, cmsg_type=SCM_RIGHTS, cmsg_data=[3]}], msg_controllen=24, msg_flags=0}, 0) = 2
accept4(4<UNIX-STREAM:[5,"/s"]>, NULL, NULL, 0) = 3<UNIX-STREAM:[7->8]>; read(3<UNIX-STREAM:[7->8]>, "x", 16) = 1; 4 × write(3<UNIX-STREAM:[7->8]>, "x", 1) = 1 => adjacent-writes unix 4→1 adjacent
write(6<TCP:[127.0.0.1:1->127.0.0.1:2]>, "x", 8) = 8; 2: write(6<TCP:[127.0.0.1:1->127.0.0.1:2]>, "x", 8) = 8 => adjacent-writes tcp 2→1 several threads or processes write to it
…; pwrite64 3 8 0; pwrite64 3 8 8 => positional-writes file 2→1 a database library of the process
  exec /usr/bin/python3; open 9 /usr/lib/_sqlite3.cpython-311-x86_64-linux-gnu.so; open 3 data
  exec /usr/bin/perl; open 9 auto/DBD/SQLite/SQLite.so; open 3 t.db
  exec /usr/bin/tool; open 9 /lib/libsqlite3.so.0.8.6; open 3 t.db-journal
…; pwrite64 3 8 0; pwrite64 3 8 8 => positional-writes file 2→1 adjacent
  exec /usr/bin/tool; open 9 /lib/libsqlite3.so.0.8.6; open 3 data
  exec /usr/bin/tool; open 9 /lib/libc.so.6; open 3 t.db
  exec /usr/bin/node; open 9 better_sqlite3.node; exec /usr/bin/node; open 3 data"#,
    );
    // Threads to which strace was attached count as one process.
    let late = r#"write(3</a>, "x", 8) = 8; 2: write(3</a>, "x", 8) = 8"#;
    for calls in [
        late,
        &format!("{late}; thread 2; 2: write(3</a>, \"x\", 8) = 8"),
    ] {
        assert_eq!(tallies_of(calls).processes, 1, "{calls}");
    }
}

#[test]
fn a_path_may_lead_to_a_fifo_or_to_a_file_with_another_name() {
    let look = |path: &[u8]| {
        let inode = match path {
            b"/tmp/fifo" => (1, 1),
            b"/tmp/f" | b"/tmp/g" => (1, 2),
            _ => return None,
        };
        let is_fifo = path == b"/tmp/fifo";
        Some(Seen { inode, is_fifo })
    };
    let options = Options {
        look: Some(look),
        ..whole()
    };
    check_with(
        options,
        r#"O; openat(AT_FDCWD</>, "/tmp/fifo", O_WRONLY) = 4</tmp/fifo>; W; write(4</tmp/fifo>, "x", 20) = 20; W => 2→1 a write to another pipe or socket between them
openat(AT_FDCWD</>, "/tmp/gone", O_WRONLY) = 4</tmp/gone>; …
  2 × write(4</tmp/gone>, "x", 20) = 20 => 2→1 the log does not show whether it is a file or a FIFO: read the log where its files are
  fstat(4</tmp/gone>, {st_mode=S_IFREG|0644, st_size=20, ...}) = 0; 2 × write(4</tmp/gone>, "x", 20) = 20 => 2→1 adjacent
O; thread 2; W; 2: stat("/tmp/g", {st_size=20}) = 0; W => 2→1 another thread or process reads the file, or asks for its size, while it is written"#,
    );
}

#[test]
fn a_child_may_run_before_its_fork_returns_and_a_number_is_used_again() {
    check(
        r#"open 3 a; 2: close 3; fork 2; 2 × 2: write 3 8 => adjacent-writes unknown 2→1 the log does not say
openat(AT_FDCWD</>, "/a", O_RDWR|O_CREAT|O_CLOEXEC, 0666) = 3; 2: exec /bin/x; fork 2; 2 × 2: write 3 8 => adjacent-writes unknown 2→1 the log does not say
O; fork 2; 2: W; 2: W; 2: ended; wait4(-1, NULL, 0, NULL) = 2; fork 3; W; W => 4→2 adjacent
socket(AF_INET, SOCK_STREAM, IPPROTO_TCP) = 3; read 3 1; write 3 1; read 3 1 => small-reads tcp 2→1 a write to a pipe or socket between them, which these bytes may answer
socket(AF_INET, SOCK_STREAM, IPPROTO_TCP) = 3; read 3 1; unlink("a") = 0; read 3 1 => small-reads tcp 2→1 rename, unlink, utime"#,
    );
}

#[test]
fn bytes_of_a_mapped_file_can_be_seen_and_changed_at_any_time() {
    check(
        r#"…; W; W => 2→1 the file is mapped into memory
  O; mmap(NULL, 4096, PROT_READ, MAP_SHARED, 3</tmp/f>, 0) = 0x7f00
  A; mmap(NULL, 4096, PROT_READ, MAP_SHARED, 4</tmp/f>, 0) = 0x7f00; close(4</tmp/f>) = 0; O
O; …; R; R => small-reads file 2→1 adjacent
  mmap(NULL, 4096, PROT_READ, MAP_SHARED, 3</tmp/f>, 0) = 0x7f00
O; mmap(NULL, 4096, PROT_READ|PROT_WRITE, MAP_SHARED, 3</tmp/f>, 0) = 0x7f00; R; R => small-reads file 2→1 the file is mapped into memory"#,
    );
}
