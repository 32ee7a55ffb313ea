//! What the actions of findings say: where to flush a buffer, and what else the buffer changes.

use crate::advisor::tests::logs::*;

#[test]
fn a_barrier_is_named_by_the_call_that_set_it() {
    check(
        r#"O; W; W; …
  ftruncate(4</tmp/g>, 0) = 0; W; W => says before ftruncate (once)
  utimensat(-100, "/tmp/g", NULL, 0) = 0; W; W => says before utime (once)
  lseek(3</tmp/f>, 0, SEEK_END) = 40; W; W => says before lseek(SEEK_END) (once)
  openat(AT_FDCWD</>, "/tmp/g", O_WRONLY|O_TRUNC) = 4</tmp/g>; W; W => says before an open that creates or empties another file (once)
  never_heard_of(0) = 0; fork 2; W; W => says before a call that is not known to be harmless (once), fork (once)
  futex(0x7f, FUTEX_WAKE_PRIVATE, 1) = 1; read(5<pipe:[7]>, "x", 20) = 20; W; W => says before a read of a pipe or socket (once), waiting for or waking another thread (once)
  getpid() = 1; lseek(3</tmp/f>, 60, SEEK_CUR) = 100; openat(AT_FDCWD</>, "/tmp/g", O_WRONLY|O_CREAT, 0666) = 7</tmp/g>; exit => says lseek (once)
  2 × dup2(3</tmp/f>, 5) = 5</tmp/f>; pwrite64(3</tmp/f>, "x"..., 8, 32) = 8; exit => says sendfile, a write at an offset or one with flags to the same descriptor (once)
  2 × dup2(3</tmp/f>, 5) = 5</tmp/f>; write(5</tmp/f>, "x"..., 8) = 8; exit => says a call through another descriptor of the same open file (once)
  write(2</dev/pts/0<char 136:0>>, "x"..., 9) = 9; exit => says before a read or write of a terminal, a device or another special descriptor (once)
  write(2<pipe:[7]>, "x"..., 9) = 9; exit => says before a write to another pipe or socket (once)
  write(2</tmp/f>, "x"..., 9) = 9; exit => says before a use of the same file through another descriptor (once)
  sleep; W; W => says before a pause of more than 10 ms (once), 
O; 3 × W; close(3</tmp/f>) = 0; O; 3 × W; close(3</tmp/f>) = 0 => says before each close of the file (2 times), and
O; W; W; +++ killed by SIGKILL +++ => says A signal killed a process that wrote it
O; 3 × W; close(3</tmp/f>) = 0; fork 2; 2: O; 2: W; 2: +++ killed by SIGKILL +++ => says A signal killed a process that wrote it
pipe 3 4; 3 × read 3 8; poll; 3 × read 3 8 => says Read more at once, through a larger buffer
O; openat(AT_FDCWD</>, "/tmp/f", O_WRONLY) = 4</tmp/f>; 3 × R; pwrite64(4</tmp/f>, "x", 20, 0) = 20; 3 × R => says Read each run at once, with no buffer that outlives a write to the file through another descriptor (once): 2 calls
O; W; write 3 9; fsync(3</tmp/f>) = 0; W; write 3 9; fsync(3</tmp/f>) = 0; W; write 3 9 => says Write the 2 pieces in one call, before fsync (2 times): 3 calls instead of 6."#,
    );
}

#[test]
fn a_buffer_of_a_process_that_forks_or_was_forked_is_flushed() {
    check(
        r#"O; …
  thread 2; W; W; 2: fork 3; 3: ended; W; W => says before fork (once), the close
  W; W; fork 3; 3: W; 3: W; 3: ended; wait4(3, NULL, 0, NULL) = 3; W; W => says before fork (once)
  W; W; fork 3; 3: W; 3: ended; wait4(3, NULL, 0, NULL) = 3; W; W => says it flushes its own buffer before it ends"#,
    );
}

/// One call in the program may have opened several open file descriptions. A buffer changes the writes through all of
/// them.
#[test]
fn a_buffer_heeds_all_openings_of_the_file() {
    check(
        r#"fork 2; O; W; 2: stat("/tmp/f", {st_size=20}) = 0; W; …
  close(3</tmp/f>) = 0; O; 3 × W => 5→2 another thread or process reads the file
  rename("/tmp/f", "/tmp/g") = 0; close(3</tmp/g>) = 0; O; 3 × W => 3→1 another thread or process reads | 2→1 another
  close(3</tmp/f>) = 0; exec /bin/x; O; 3 × W => 3→1 adjacent | 2→1 another
O; W; fsync(3</tmp/f>) = 0; W; rename("/tmp/f", "/tmp/g") = 0; close(3</tmp/g>) = 0; O; 3 × W => says before fsync (once)
openat(AT_FDCWD</>, "/tmp/f", O_RDWR|O_CREAT|O_TRUNC, 0666) = 3</tmp/f>; W; fsync(3</tmp/f>) = 0; W; close(3</tmp/f>) = 0; O; 3 × W => says record, before the close"#,
    );
}

#[test]
fn where_others_may_write_each_call_writes_whole_records() {
    check(
        r#"openat(AT_FDCWD</>, "/tmp/f", O_RDWR|O_CREAT|O_APPEND…
  , 0666) = 3</tmp/f>; W; W => says Others may append to the file
  |O_EXCL, 0666) = 3</tmp/f>; W; W => says not Others
  , 0666) = 3</tmp/f>; 43 × write(3</tmp/f>, "x"..., 3000) = 3000 => 43→3 adjacent
W; W => says Others may append to the file
4 × write(1<pipe:[7]>, "x"..., 2000) = 2000 => says flush it before it has more than 4 KiB, before the close of the descriptor, and on every way out: 2 calls"#,
    );
}

#[test]
fn files_that_are_written_in_turn_are_counted_with_a_note_on_their_order() {
    check(
        r#"O; …
  W; W; write(2</tmp/err>, "x"..., 9) = 9; exit => says The program writes f in turn with err:
  W; write(2</tmp/err>, "x"..., 9) = 9; W => says The program writes f in turn with err:
  write(2</tmp/err>, "x"..., 9) = 9; W; W; exit => says not in turn
  W; W; close(3</tmp/f>) = 0; write(2</tmp/err>, "x"..., 9) = 9; exit => says not in turn
  W; W; write(4</tmp/err>, "x"..., 9) = 9; exit => says not in turn
open 3 d; open 4 e; open 5 f; open 6 g; open 7 h; write 3 8; write 7 8; write 6 8; write 3 8; write 5 8; write 4 8; write 3 8 => says The program writes d in turn with e, g and h: merging changes the order"#,
    );
}
