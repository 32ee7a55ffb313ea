//! Random programs: steps of several threads, in the order in which they run if none has to wait.

use fastrand::Rng;

use super::kernel::OWN_DESCRIPTOR;

/// A system call. A call that makes no sense where it stands is left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Call {
    Open(i32, u8, Mode),
    Close(i32),
    Duplicate(i32, i32),
    Pipe(i32, i32),
    Pair(i32, i32),
    Write(i32, usize),
    /// A list of so many segments of so many bytes.
    WriteList(i32, usize, usize),
    WriteAt(i32, usize, usize),
    Read(i32, usize),
    ReadAt(i32, usize, usize),
    /// `sendfile`, or `splice` with a stream at either end: to, from, bytes.
    Copy(i32, i32, usize),
    Seek(i32, usize),
    /// `lseek(SEEK_CUR)`, by so many bytes.
    Move(i32, usize),
    Tell(i32),
    SeekEnd(i32),
    Stat(u8),
    StatDescriptor(i32),
    Access(u8),
    /// `getdents`.
    List,
    TruncateDescriptor(i32, usize),
    Truncate(u8, usize),
    Rename(u8, u8),
    Unlink(u8),
    Link(u8, u8),
    Symlink(u8, u8),
    Sync(i32),
    SyncAll,
    SyncFileSystem(i32),
    Poll(i32),
    Watch(u8),
    /// `futex`: wakes who waits, or waits.
    Post(u8),
    Await(u8),
    Fork(u32),
    Thread(u32),
    Execute,
    Exit,
    Kill(u32),
    Wait(u32),
    /// A look that is repeated without a call that waits.
    Until(Look),
    Pause,
    Harmless,
    /// The program looks at a file that it has mapped: no call.
    Map(i32),
    Peek(i32),
}

/// What a program polls for: a file that exists, is not empty, can be opened, is listed, has bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Look {
    Access(u8),
    Stat(u8),
    Open(i32, u8),
    List(u8),
    Read(i32, usize),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    Read,
    Write,
    Both,
    Append,
    Path,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Step {
    pub(super) thread: u32,
    pub(super) call: Call,
}

/// Most steps after the preamble.
const STEPS_MAX: usize = 40;

pub(super) fn any_program(rng: &mut Rng) -> Vec<Step> {
    let mut steps = Vec::new();
    let mut first = |call| steps.push(Step { thread: 1, call });
    let early = rng.bool();
    if early && rng.u8(..3) > 0 {
        first(Call::Pipe(5, 6));
    }
    first(Call::Open(3, 0, any_mode(rng)));
    if rng.bool() {
        first(Call::Write(3, 40));
        first(Call::Open(4, rng.u8(..2), Mode::Both));
    }
    if rng.u8(..4) == 0 {
        first(Call::Pair(7, 8));
    }
    for child in 2..4 {
        match rng.u8(..5) {
            0 | 1 => first(Call::Fork(child)),
            2 => first(Call::Thread(child)),
            _ => {}
        }
    }
    let length = steps.len() + rng.usize(3..=STEPS_MAX);
    while steps.len() < length {
        let thread = if rng.u8(..3) > 0 { 1 } else { rng.u32(1..4) };
        let by = |rng: &mut Rng| if rng.u8(..6) == 0 { rng.u32(1..4) } else { thread };
        if rng.u8(..4) == 0 {
            let block = steps_of_a_loop(rng);
            steps.extend(block.into_iter().map(|call| Step { thread: by(rng), call }));
            continue;
        }
        let block: Vec<Step> = (0..rng.usize(1..4))
            .map(|_| Step {
                thread: by(rng),
                call: any_call(rng),
            })
            .collect();
        for _ in 0..rng.usize(1..5) {
            steps.extend(&block);
        }
    }
    steps.truncate(length);
    steps
}

/// Transfers in a row, at offsets of their own, after a seek each, or plain.
fn steps_of_a_loop(rng: &mut Rng) -> Vec<Call> {
    let fd = rng.i32(3..5);
    let how = rng.u8(..8);
    let begin = rng.usize(..3) * 8;
    let step = |round: usize| match how {
        0 => vec![Call::WriteAt(fd, 8, begin + 8 * round)],
        1 => vec![Call::ReadAt(fd, 8, begin + 8 * round)],
        2 => vec![Call::Seek(fd, 8 * (round % 3)), Call::Read(fd, 4)],
        3 => vec![Call::Seek(fd, 8 * (round % 3)), Call::Write(fd, 4)],
        4 => vec![Call::Read(5, 4)],
        5 => vec![Call::Read(7, 4)],
        _ => vec![Call::Read(fd, 4)],
    };
    let start = if how > 5 { vec![Call::Seek(fd, 0)] } else { Vec::new() };
    start.into_iter().chain((0..rng.usize(2..7)).flat_map(step)).collect()
}

fn any_mode(rng: &mut Rng) -> Mode {
    match rng.u8(..8) {
        0 => Mode::Read,
        1 | 2 => Mode::Append,
        3 | 4 => Mode::Both,
        _ => Mode::Write,
    }
}

fn any_call(rng: &mut Rng) -> Call {
    let fd = |rng: &mut Rng| [3, 3, 3, 4, 5, 6, 6, 7, 8][rng.usize(..9)];
    let file = |rng: &mut Rng| if rng.u8(..3) > 0 { 3 } else { 4 };
    let size = |rng: &mut Rng| match rng.u8(..24) {
        0 => 2500,
        1 => 5000,
        _ => rng.usize(1..5) * 4,
    };
    let name = |rng: &mut Rng| match rng.u8(..8) {
        0 => OWN_DESCRIPTOR + 3,
        1 | 2 => rng.u8(1..4),
        _ => 0,
    };
    let child = |rng: &mut Rng| rng.u32(2..4);
    match rng.u8(..100) {
        0..30 => Call::Write(fd(rng), size(rng)),
        30..46 => Call::Read(fd(rng), size(rng)),
        46 => Call::WriteList(fd(rng), rng.usize(2..4), 5),
        47..51 => Call::WriteAt(file(rng), 8, rng.usize(..4) * 8),
        51..54 => Call::ReadAt(file(rng), 8, rng.usize(..4) * 8),
        54 => Call::Copy(fd(rng), fd(rng), 8),
        55..60 => Call::Seek(file(rng), rng.usize(..4) * 8),
        60 => Call::Move(file(rng), rng.usize(1..3) * 8),
        61 => Call::Tell(file(rng)),
        62 => Call::SeekEnd(file(rng)),
        63 => Call::Stat(name(rng)),
        64 => Call::StatDescriptor(fd(rng)),
        65 => Call::Access(name(rng)),
        66 => Call::List,
        67 => Call::TruncateDescriptor(file(rng), 8),
        68 => Call::Truncate(name(rng), 8),
        69 => Call::Rename(rng.u8(..3), rng.u8(..3)),
        70 => Call::Unlink(rng.u8(..3)),
        71 => Call::Link(0, rng.u8(1..4)),
        72 => Call::Symlink(0, rng.u8(1..4)),
        73 | 74 => Call::Sync(file(rng)),
        75 => if rng.bool() { Call::SyncAll } else { Call::SyncFileSystem(file(rng)) },
        76..78 => Call::Poll(fd(rng)),
        78 => Call::Watch(name(rng)),
        79 => Call::Post(rng.u8(..2)),
        80 => Call::Await(rng.u8(..2)),
        81 => if rng.bool() { Call::Fork(child(rng)) } else { Call::Thread(child(rng)) },
        82 => Call::Execute,
        83 => Call::Exit,
        84 => Call::Kill(rng.u32(1..4)),
        85 => Call::Wait(child(rng)),
        86..88 => Call::Until(match rng.u8(..5) {
            0 => Look::Access(name(rng)),
            1 => Look::Stat(name(rng)),
            2 => Look::Open(rng.i32(3..6), rng.u8(..3)),
            3 => Look::List(rng.u8(..3)),
            _ => Look::Read(file(rng), 8),
        }),
        88 => Call::Pause,
        89..92 => Call::Harmless,
        92 => if rng.bool() { Call::Map(file(rng)) } else { Call::Peek(file(rng)) },
        93 => Call::Duplicate(fd(rng), rng.i32(3..9)),
        94 => Call::Close(fd(rng)),
        95 => Call::Pipe(5, 6),
        96 => Call::Open(rng.i32(3..6), rng.u8(..3), Mode::Path),
        _ => Call::Open(rng.i32(3..6), name(rng), any_mode(rng)),
    }
}
