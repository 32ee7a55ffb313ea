//! Random programs: calls of several threads, in the order of a run in which no call waits.

use fastrand::Rng;

macro_rules! calls {
    ($($op:ident $weight:literal $text:literal)*) => {
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(super) enum Op {
            $($op),*
        }

        /// Calls with their weights, and their texts in a log of strace.
        const CALLS: &[(Op, usize, &str)] = &[$((Op::$op, $weight, $text)),*];
    };
}

// `%f` and `%g` are descriptors, `%p` and `%q` paths, `%n` bytes, `%h` half of `%n`, `%a` an offset, `%c` a child, `%r`
// the result.
calls! {
    OpenToRead 2 r#"openat(AT_FDCWD</d>, "%p", O_RDONLY) = %r"#
    OpenNew 1 r#"openat(AT_FDCWD</d>, "%p", O_WRONLY|O_CREAT|O_TRUNC, 0666) = %r"#
    OpenBoth 1 r#"openat(AT_FDCWD</d>, "%p", O_RDWR|O_CREAT, 0666) = %r"#
    OpenToAppend 1 r#"openat(AT_FDCWD</d>, "%p", O_WRONLY|O_CREAT|O_APPEND, 0666) = %r"#
    Close 1 "close(%f) = 0"
    Duplicate 1 "dup2(%f, %o) = %r"
    Pipe 1 "pipe2([%f, %g], 0) = 0"
    Pair 1 "socketpair(AF_UNIX, SOCK_STREAM, 0, [%f, %g]) = 0"
    Write 30 r#"write(%f, "x"..., %n) = %r"#
    WriteList 2 r#"writev(%f, [{iov_base="x"..., iov_len=%h}, {iov_base="x"..., iov_len=%h}], 2) = %r"#
    WriteAt 4 r#"pwrite64(%f, "x"..., %n, %a) = %r"#
    Read 16 r#"read(%f, "x"..., %n) = %r"#
    ReadAt 4 r#"pread64(%f, "x"..., %n, %a) = %r"#
    SendFile 1 "sendfile(%g, %f, NULL, %n) = %r"
    Seek 5 "lseek(%f, %a, SEEK_SET) = %r"
    SeekOn 1 "lseek(%f, %a, SEEK_CUR) = %r"
    SeekEnd 1 "lseek(%f, 0, SEEK_END) = %r"
    Tell 1 "lseek(%f, 0, SEEK_CUR) = %r"
    Stat 1 r#"stat("%p", {st_mode=S_IFREG|0644, st_size=1, ...}) = %r"#
    StatDescriptor 1 "fstat(%f, {st_mode=S_IFREG|0644, st_size=1, ...}) = 0"
    Access 1 r#"access("%p", F_OK) = %r"#
    Truncate 1 r#"truncate("%p", 8) = 0"#
    TruncateDescriptor 1 "ftruncate(%f, 8) = 0"
    Rename 1 r#"rename("%p", "%q") = 0"#
    Unlink 1 r#"unlink("%p") = 0"#
    Link 1 r#"link("%p", "%q") = 0"#
    Sync 2 "fsync(%f) = 0"
    SyncAll 1 "sync() = 0"
    Poll 2 "poll([{fd=%f, events=POLLIN}], 1, -1) = 1 ([{fd=%f, revents=POLLIN}])"
    Wake 1 "futex(0x7f, FUTEX_WAKE_PRIVATE, 1) = 1"
    Await 1 "futex(0x7f, FUTEX_WAIT_PRIVATE, 0, NULL) = 0"
    Fork 1 "clone(child_stack=NULL, flags=SIGCHLD) = %c"
    Thread 1 "clone(child_stack=0x7f, flags=CLONE_VM|CLONE_FILES|CLONE_THREAD) = %c"
    Execute 1 r#"execve("/bin/other", ["other"], 0x7ffe) = 0"#
    Exit 1 "exit_group(0) = ?"
    Kill 1 "kill(%c, SIGKILL) = 0"
    Wait 1 "wait4(%c, [{WIFEXITED(s) && WEXITSTATUS(s) == 0}], 0, NULL) = %c"
    Harmless 3 "brk(NULL) = 0x55"
    Pause 1 ""
}

/// A call. Each kind of call uses some of the fields.
#[derive(Clone, Copy, Debug)]
pub(super) struct Step {
    pub(super) thread: u32,
    pub(super) op: Op,
    pub(super) fd: i32,
    pub(super) other: i32,
    pub(super) bytes: usize,
    pub(super) at: usize,
    pub(super) name: u8,
    pub(super) to: u8,
    pub(super) child: u32,
}

pub(super) fn text_of(op: Op) -> &'static str {
    CALLS
        .iter()
        .find(|known| known.0 == op)
        .map_or("", |known| known.2)
}

/// From this number on, a name stands for `/proc/self/fd/N`.
pub(super) const OWN_DESCRIPTOR: u8 = 100;

const ANY_THREAD: u32 = 0;

/// The maximum number of steps after the preamble.
const STEPS_MAX: usize = 40;

pub(super) fn any_program(rng: &mut Rng) -> Vec<Step> {
    let some = any_step(rng);
    let open = [
        Op::OpenToRead,
        Op::OpenToAppend,
        Op::OpenBoth,
        Op::OpenBoth,
        Op::OpenNew,
    ];
    let preamble = [
        (4, some.call(Op::Pipe, 5)),
        (8, some.call(open[some.at / 8], 3).named(0)),
        (4, some.call(Op::Write, 3)),
        (4, some.call(Op::OpenBoth, 4).named(some.to % 2)),
        (2, some.call(Op::Pair, 7)),
        (3, some.call(Op::Fork, 2)),
        (1, some.call(Op::Thread, 2)),
        (3, some.call(Op::Fork, 3)),
        (1, some.call(Op::Thread, 3)),
    ];
    let preamble = preamble.iter().filter(|one| rng.u32(..8) < one.0);
    let mut steps: Vec<Step> = preamble.map(|one| one.1.by(1)).collect();
    let length = steps.len() + rng.usize(3..=STEPS_MAX);
    while steps.len() < length {
        let thread = if rng.u8(..3) > 0 { 1 } else { rng.u32(1..4) };
        let by = |rng: &mut Rng| if rng.u8(..6) == 0 { rng.u32(1..4) } else { thread };
        let (block, times) = if rng.u8(..4) == 0 {
            (any_loop(rng), 1)
        } else {
            (
                (0..rng.usize(1..4)).map(|_| any_step(rng)).collect(),
                rng.usize(1..5),
            )
        };
        let of_thread = |step: &Step| match step.thread {
            ANY_THREAD => step.by(by(rng)),
            _ => *step,
        };
        let block: Vec<Step> = block.iter().map(of_thread).collect();
        steps.extend(block.repeat(times));
    }
    steps.truncate(length);
    steps
}

impl Step {
    /// The step with another call. `on` is the descriptor or the child.
    fn call(self, op: Op, on: i32) -> Step {
        Step {
            op,
            fd: on,
            child: on as u32,
            other: on + 1,
            ..self
        }
    }

    fn to(self, other: i32) -> Step {
        Step { other, ..self }
    }

    fn named(self, name: u8) -> Step {
        Step { name, ..self }
    }

    fn at(self, at: usize) -> Step {
        Step { at, ..self }
    }

    fn by(self, thread: u32) -> Step {
        Step { thread, ..self }
    }
}

/// A loop of transfers: at offsets, after seeks, in turn with other calls, or plain.
fn any_loop(rng: &mut Rng) -> Vec<Step> {
    let fd = rng.i32(3..5);
    let how = rng.u8(..10);
    let some = Step {
        bytes: 8,
        ..any_step(rng)
    };
    let begin = some.at;
    let step = |round: usize| match how {
        0 => vec![some.call(Op::WriteAt, fd).at(begin + 8 * round)],
        1 => vec![some.call(Op::ReadAt, fd).at(begin + 8 * round)],
        2 => vec![
            some.call(Op::Seek, fd).at(16 * (round % 3)),
            some.call(Op::Read, fd),
        ],
        3 => vec![
            some.call(Op::Seek, fd).at(16 * (round % 3)),
            some.call(Op::Write, fd),
        ],
        4 => vec![some.call(Op::Read, 5)],
        5 => vec![some.call(Op::Read, 7)],
        // The writes alternate between two descriptors of one open file.
        6 if round == 0 => vec![some.call(Op::Duplicate, fd).to(6)],
        6 => vec![some.call(Op::Write, [fd, 6][round % 2])],
        // Writes at an offset, then reads there through another descriptor.
        7 if round == 0 => {
            vec![
                some.call(Op::WriteAt, 3).at(96),
                some.call(Op::Seek, 4).at(0),
            ]
        }
        7 => {
            let read = some.call(Op::Read, 4);
            vec![some.call(Op::WriteAt, 3).at(16 * (round - 1)), read, read]
        }
        _ if round == 0 => vec![some.call(Op::Seek, fd).at(0)],
        _ => vec![some.call(Op::Read, fd)],
    };
    (0..rng.usize(2..8)).flat_map(step).collect()
}

fn any_step(rng: &mut Rng) -> Step {
    let weighted = CALLS
        .iter()
        .flat_map(|call| std::iter::repeat_n(call.0, call.1));
    let weighted: Vec<Op> = weighted.collect();
    let op = weighted[rng.usize(..weighted.len())];
    let fds = [
        3, 3, 3, 3, 3, 3, 3, 3, 4, 4, 5, 5, 6, 6, 6, 7, 7, 8, 0, 1, 2,
    ];
    let sizes = [4, 8, 12, 16, 20, 24, 2500, 5000];
    let names = [0, 0, 0, 0, 1, 1, 2, OWN_DESCRIPTOR + 3];
    let most = if rng.u8(..4) == 0 { 8 } else { 6 };
    Step {
        thread: ANY_THREAD,
        op,
        fd: fds[rng.usize(..fds.len())],
        other: fds[rng.usize(..fds.len())],
        bytes: sizes[rng.usize(..most)],
        at: rng.usize(..5) * 8,
        name: names[rng.usize(..names.len())],
        to: rng.u8(..3),
        child: rng.u32(1..4),
    }
}
