//! Copies by scripted kernels, with refusals of several systems and with random answers.

use std::io::{self, ErrorKind};
use std::mem::MaybeUninit;
use std::ops::ControlFlow;

use proptest::option;
use proptest::prelude::*;

use super::choice::{self, Wishes};
use super::run::{CALL_BYTES, Calls, Plan, Run};
use super::*;
use crate::sys::codes;
use crate::testing::{Answer, any_script, failure, payload};

/// An input and an output that answer calls by a script. After the end of the script, each call takes all bytes.
struct Kernel {
    script: std::vec::IntoIter<Answer>,
    last: Answer,
    input: Vec<u8>,
    taken: usize,
    output: Vec<u8>,
    is_full: bool,
    /// The number of calls of `is_output_full` that are interrupted.
    signals: u32,
    /// The calls so far: `r` for a read, `w` for a write, `t` for a transfer.
    calls: String,
    /// On Linux, a transfer from a file of /proc moves no byte.
    has_size_0: bool,
    /// The number of waits for the input that end without bytes.
    silences: u32,
    /// The time of a byte in a call of each kind, in ns.
    ns: fn(char) -> u64,
    clock_ns: u64,
    refuses_transfers: bool,
}

impl Kernel {
    fn new(input_bytes: usize, script: &[Answer]) -> Kernel {
        Kernel {
            script: Vec::from(script).into_iter(),
            last: Answer::Take(usize::MAX),
            input: payload(&[input_bytes]).concat(),
            taken: 0,
            output: Vec::new(),
            is_full: false,
            signals: 0,
            calls: String::new(),
            has_size_0: false,
            silences: 0,
            ns: |_| 1,
            clock_ns: 0,
            refuses_transfers: false,
        }
    }

    fn answer(&mut self, call: char, most: usize) -> io::Result<usize> {
        assert!(most > 0, "a call for no bytes");
        self.calls.push(call);
        self.last = self.script.next().unwrap_or(Answer::Take(usize::MAX));
        self.clock_ns += most as u64 * (self.ns)(call);
        match self.last {
            Answer::Take(some) => Ok(some.min(most)),
            Answer::Fail(code) => Err(failure(code)),
        }
    }

    fn left(&self) -> usize {
        self.input.len() - self.taken
    }
}

impl Calls for &mut Kernel {
    fn read<'b>(&mut self, free: &'b mut [MaybeUninit<u8>]) -> io::Result<&'b mut [u8]> {
        let some = self.answer('r', free.len())?.min(self.left());
        let mut filling = crate::sys::uninit::Filling::new(&mut free[..some]);
        for byte in &self.input[self.taken..self.taken + some] {
            filling.fill(1, |one| Ok(std::slice::from_mut(one[0].write(*byte))))?;
        }
        self.taken += some;
        Ok(filling.into_filled())
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let some = self.answer('w', bytes.len())?;
        self.output.extend_from_slice(&bytes[..some]);
        Ok(some)
    }

    fn transfer(&mut self, _technique: Technique, most: usize) -> io::Result<usize> {
        assert!(most as u64 <= CALL_BYTES);
        if self.refuses_transfers {
            self.calls.push('t');
            return Err(failure(codes::EINVAL));
        }
        let some = self.answer('t', most)?.min(self.left());
        let some = if self.has_size_0 { 0 } else { some };
        let Kernel {
            input,
            taken,
            output,
            ..
        } = &mut **self;
        output.extend_from_slice(&input[*taken..*taken + some]);
        *taken += some;
        Ok(some)
    }

    fn await_input(&mut self) -> bool {
        let is_there = self.silences == 0 || self.left() > 0;
        self.silences -= u32::from(!is_there);
        is_there
    }

    fn now_ns(&mut self) -> u64 {
        self.clock_ns
    }

    fn is_output_full(&mut self) -> io::Result<bool> {
        if self.signals > 0 {
            self.signals -= 1;
            return Err(failure(codes::EINTR));
        }
        Ok(self.is_full)
    }
}

const OF_FILES: Plan = Plan {
    technique: Technique::CopyFileRange,
    trial_bytes: None,
    is_named: false,
    is_zero_the_end: false,
    is_short_the_last: true,
    file_bytes: 0,
    first_bytes: 100,
    most_bytes: 100,
    limit: u64::MAX,
};

const OF_PIPES: Plan = Plan {
    technique: Technique::Splice,
    is_zero_the_end: true,
    is_short_the_last: false,
    ..OF_FILES
};

fn run(kernel: &mut Kernel, plan: Plan) -> Result<Copied, CopyError> {
    Run::new(kernel, plan, None).finish(plan)
}

#[test]
fn what_a_system_refuses_is_read_and_written() {
    // EXDEV: Linux before 5.3 between file systems, and Linux since 5.19 between types of file systems. EBADF: an
    // output in append mode. EPERM: a sandbox. ENOENT and EIO: network file systems.
    #[cfg(unix)]
    let refusals = [
        libc::EXDEV,
        libc::EINVAL,
        libc::ENOSYS,
        libc::EOPNOTSUPP,
        libc::EBADF,
        libc::EPERM,
        libc::ETXTBSY,
        libc::ENOENT,
        libc::EIO,
        libc::EOVERFLOW,
    ];
    #[cfg(windows)]
    let refusals = [codes::EINVAL, codes::ENOSYS, codes::EIO];
    for code in refusals {
        // The first slice refuses the first transfer. The second slice refuses the second transfer.
        let script = [Answer::Take(usize::MAX), Answer::Fail(code)];
        let long = CALL_BYTES as usize + 50;
        for (script, calls, bytes) in [(&script[1..], "trwrwrwr", 250), (&script, "ttrwr", long)] {
            let mut kernel = Kernel::new(bytes, script);
            let copied = run(&mut kernel, OF_FILES).unwrap();
            assert_eq!(copied.technique, Technique::ReadWrite);
            assert!(kernel.output == kernel.input);
            assert_eq!(kernel.calls, calls, "{code}");
        }
        let named = Plan {
            is_named: true,
            ..OF_FILES
        };
        let mut kernel = Kernel::new(250, &[Answer::Fail(code)]);
        let error = run(&mut kernel, named).unwrap_err();
        assert_eq!((error.raw_os_error(), error.side()), (Some(code), None));
        assert_eq!((error.read(), error.written(), kernel.taken), (0, 0, 0));
    }
}

#[test]
fn memory_grows_fourfold_when_two_reads_have_filled_it() {
    let plan = Plan {
        technique: Technique::ReadWrite,
        most_bytes: 300 << 10,
        ..OF_PIPES
    };
    let sizes = [16, 16, 64, 64, 256, 256, 300].map(|kib| kib << 10);
    let mut kernel = Kernel::new(sizes.iter().sum(), &[]);
    run(&mut kernel, plan).unwrap();
    assert_eq!(kernel.calls, "rwrwrwrwrwrwrwr");
    // A read that does not fill the buffer restarts the count of full reads.
    let script = [usize::MAX, usize::MAX, 50].map(Answer::Take);
    let mut kernel = Kernel::new(50 + (16 << 10) * 3 + (64 << 10), &script);
    run(&mut kernel, plan).unwrap();
    assert_eq!(kernel.calls, "rwrwrwrwrwr");
}

#[test]
fn an_error_of_the_output_takes_nothing_more() {
    for code in codes::OF_OUTPUT {
        let mut kernel = Kernel::new(250, &[Answer::Take(70), Answer::Fail(code)]);
        let plan = Plan {
            is_short_the_last: false,
            ..OF_FILES
        };
        let error = run(&mut kernel, plan).unwrap_err();
        assert_eq!(
            (error.raw_os_error(), error.side()),
            (Some(code), Some(Side::Output))
        );
        assert_eq!((error.read(), error.written(), kernel.taken), (70, 70, 70));
    }
}

#[test]
fn the_end_of_a_file_is_confirmed_by_a_read() {
    // A file of /proc has a size of 0.
    let mut kernel = Kernel {
        has_size_0: true,
        ..Kernel::new(250, &[])
    };
    assert_eq!(run(&mut kernel, OF_FILES).unwrap().bytes, 250);
    assert_eq!(kernel.calls, "trwrwrwr");
    // A read follows each short transfer. In the second case, more bytes follow.
    let mut kernel = Kernel::new(250, &[]);
    assert_eq!(run(&mut kernel, OF_FILES).unwrap().calls, 1);
    assert_eq!(kernel.calls, "tr");
    let mut kernel = Kernel::new(250, &[Answer::Take(70)]);
    assert_eq!(run(&mut kernel, OF_FILES).unwrap().calls, 3);
    assert_eq!(kernel.calls, "trwtr");
    // If a short read ends exactly at the known size, no further read confirms the end.
    let of_reads = Plan {
        technique: Technique::ReadWrite,
        ..OF_FILES
    };
    for (file_bytes, script, calls) in [
        (250, vec![], "rwrwrw"),
        (250, vec![Answer::Take(70)], "rwrwrw"),
        // The file has grown or shrunk, or the last read was not short.
        (249, vec![], "rwrwrwr"),
        (251, vec![], "rwrwrwr"),
        (200, vec![], "rwrwrwr"),
    ] {
        let plan = Plan {
            file_bytes,
            ..of_reads
        };
        let mut kernel = Kernel::new(250, &script);
        assert_eq!(run(&mut kernel, plan).unwrap().bytes, 250);
        assert_eq!(kernel.calls, calls, "{file_bytes}");
    }
    // A pipe may get another writer after its end.
    let mut kernel = Kernel::new(250, &[Answer::Take(70)]);
    assert_eq!(run(&mut kernel, OF_PIPES).unwrap().calls, 2);
    assert_eq!(kernel.calls, "ttt");
}

#[test]
fn a_transfer_that_would_block_asks_which_side_it_was() {
    let script = [Answer::Take(70), Answer::Fail(codes::EAGAIN)];
    // The output is full and does not wait, so no byte may be taken from the input.
    let mut kernel = Kernel {
        is_full: true,
        ..Kernel::new(250, &script)
    };
    let error = run(&mut kernel, OF_PIPES).unwrap_err();
    assert_eq!(
        (error.kind(), error.side()),
        (ErrorKind::WouldBlock, Some(Side::Output))
    );
    assert_eq!((error.read(), error.written(), kernel.taken), (70, 70, 70));
    // The input is empty. The signals interrupt `is_output_full`.
    for signals in [0, 2] {
        let mut kernel = Kernel {
            signals,
            ..Kernel::new(250, &script)
        };
        assert_eq!(run(&mut kernel, OF_PIPES).unwrap().bytes, 250);
        assert_eq!((&*kernel.calls, kernel.signals), ("ttrwtt", 0));
    }
    let mut kernel = Kernel::new(250, &[script[1], script[1]]);
    let error = run(&mut kernel, OF_PIPES).unwrap_err();
    assert_eq!(
        (error.kind(), error.side()),
        (ErrorKind::WouldBlock, Some(Side::Input))
    );
    assert_eq!((error.read(), kernel.taken), (0, 0));
}

#[test]
fn progress_hears_each_call_and_can_stop() {
    let mut heard = Vec::new();
    let mut progress = |bytes| {
        heard.push(bytes);
        if heard.len() < 3 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    };
    let mut kernel = Kernel::new(3 * CALL_BYTES as usize + 7, &[]);
    let error = Run::new(&mut kernel, OF_FILES, Some(&mut progress)).finish(OF_FILES);
    let error = error.unwrap_err();
    assert_eq!((error.kind(), error.side()), (ErrorKind::Interrupted, None));
    assert_eq!(heard, [1, 2, 3].map(|calls| calls * CALL_BYTES));
    assert_eq!(
        (error.written(), kernel.output.len() as u64),
        (heard[2], heard[2])
    );
}

#[test]
fn a_copy_that_measures_itself_goes_on_by_the_faster_calls() {
    // A read and a write together take 2 ns a byte.
    for (ns_of_transfer, fewest, most) in [(1, 80, 100), (3, 0, 20)] {
        let ns = if ns_of_transfer == 1 { |_| 1 } else { |call| if call == 't' { 3 } else { 1 } };
        let plan = Plan {
            trial_bytes: Some(1000),
            ..OF_FILES
        };
        let mut kernel = Kernel {
            ns,
            ..Kernel::new(200_000, &[])
        };
        let copied = run(&mut kernel, plan).unwrap();
        assert!(kernel.output == kernel.input);
        let by = [Technique::Splice, Technique::ReadWrite];
        let [within, through] = by.map(|technique| copied.bytes_by(technique));
        assert_eq!((copied.bytes, within + through), (200_000, 200_000));
        let percent = within * 100 / copied.bytes;
        assert!((fewest..=most).contains(&percent), "{percent} %");
        let mut kernel = Kernel {
            refuses_transfers: true,
            ..Kernel::new(200_000, &[])
        };
        let copied = run(&mut kernel, plan).unwrap();
        assert_eq!(copied.bytes_by(Technique::ReadWrite), 200_000);
        assert_eq!(kernel.calls.matches('t').count(), 1);
    }
}

#[test]
fn progress_is_heard_while_the_input_is_silent_and_at_its_end() {
    let read = Plan {
        technique: Technique::ReadWrite,
        ..OF_FILES
    };
    for plan in [OF_PIPES, read] {
        // After the bytes, the input is silent twice and then ends.
        for stop_at in 1..=5 {
            let mut heard = Vec::new();
            let mut progress = |bytes| {
                heard.push(bytes);
                if heard.len() < stop_at {
                    ControlFlow::Continue(())
                } else {
                    ControlFlow::Break(())
                }
            };
            let mut kernel = Kernel {
                silences: 2,
                ..Kernel::new(70, &[])
            };
            let copied = Run::new(&mut kernel, plan, Some(&mut progress)).finish(plan);
            assert_eq!(heard, vec![70; stop_at.min(4)]);
            match copied {
                Ok(copied) => assert_eq!((copied.bytes, stop_at), (70, 5)),
                Err(error) => {
                    assert_eq!(
                        (error.kind(), error.written()),
                        (ErrorKind::Interrupted, 70)
                    );
                    assert!(error.unwritten().is_empty() && stop_at < 5);
                }
            }
        }
    }
}

proptest! {
    /// After each error, the caller writes the unwritten bytes, and copies the rest.
    #[test]
    fn no_byte_is_lost_or_doubled(
        bytes in 0..2000_usize,
        script in any_script(),
        is_transfer: bool,
        is_named: bool,
        is_short_the_last: bool,
        is_zero_the_end: bool,
        is_full: bool,
        is_sized: bool,
        first_bytes in 1..300_usize,
        most_bytes in prop_oneof![1..1000_usize, 1..10_000_usize],
        limit in prop_oneof![Just(u64::MAX), 0..500_u64],
        trial_bytes in option::of(1..20_u64),
    ) {
        let technique = if is_transfer { Technique::Splice } else { Technique::ReadWrite };
        let file_bytes = if is_sized { bytes as u64 } else { 0 };
        let plan = Plan { technique, trial_bytes, is_named, is_zero_the_end, is_short_the_last, file_bytes, first_bytes, most_bytes, limit };
        let mut kernel = Kernel { is_full, ..Kernel::new(bytes, &script) };
        let mut idle = 0;
        while kernel.output.len() < bytes {
            let before = kernel.output.len();
            let result = run(&mut kernel, plan);
            let arrived = (kernel.output.len() - before) as u64;
            match result {
                Ok(copied) => {
                    prop_assert_eq!(copied.bytes, arrived);
                    prop_assert!(arrived <= limit);
                    // An end before the last byte comes from the script.
                    let is_early = kernel.left() > 0 && arrived < limit;
                    prop_assert!(!is_early || kernel.last == Answer::Take(0));
                }
                Err(error) => {
                    let code = error.raw_os_error();
                    match kernel.last {
                        Answer::Fail(last) => prop_assert_eq!(code, Some(last)),
                        Answer::Take(some) => prop_assert_eq!((some, error.kind()), (0, ErrorKind::WriteZero)),
                    }
                    prop_assert!(kernel.last != Answer::Fail(codes::EINTR));
                    prop_assert_eq!(error.written(), arrived);
                    prop_assert!(error.read() <= limit);
                    let rest = &kernel.input[before..kernel.taken];
                    prop_assert_eq!(&rest[arrived as usize..], error.unwritten());
                    prop_assert_eq!(error.to_string().contains(" more were read)"), !error.unwritten().is_empty());
                    kernel.output.extend_from_slice(error.unwritten());
                }
            }
            prop_assert_eq!(kernel.taken, kernel.output.len());
            prop_assert!(kernel.output == kernel.input[..kernel.taken]);
            idle += usize::from(kernel.output.len() == before);
            prop_assert!(idle <= script.len() + 1 || limit == 0, "it does not get on");
            if limit == 0 {
                prop_assert!(kernel.calls.is_empty());
                break;
            }
        }
    }
}

#[test]
fn a_joined_copy_has_the_technique_that_moved_the_last_bytes() {
    let mut all = Copied::nothing_by(Technique::Splice);
    for (bytes, technique) in [
        (0, Technique::Sendfile),
        (5, Technique::ReadWrite),
        (0, Technique::Splice),
    ] {
        let mut next = Copied::nothing_by(technique);
        if bytes > 0 {
            next.add(bytes, technique);
        }
        all.join(next);
    }
    assert_eq!(
        (all.bytes, all.calls, all.technique),
        (5, 1, Technique::ReadWrite)
    );
    assert_eq!(all.bytes_by(Technique::ReadWrite), 5);
}

fn end(kind: FileKind, bytes: u64) -> CopyEnd {
    CopyEnd {
        kind,
        file: None,
        bytes,
        is_null: false,
    }
}

/// The result of `pipe_bytes`, and the result of `is_without_copies`.
struct Answers(Option<usize>, bool);

impl choice::Output for Answers {
    fn pipe_bytes(&self) -> Option<usize> {
        self.0
    }

    fn is_without_copies(&self) -> bool {
        self.1
    }
}

#[test]
fn the_technique_follows_from_the_two_kinds() {
    use FileKind::{Character, Fifo, Regular, Socket};
    if !cfg!(target_os = "linux") {
        return;
    }
    let [file, of_proc] = [10, 0].map(|bytes| end(Regular, bytes));
    let [pipe, socket, terminal] = [Fifo, Socket, Character].map(|kind| end(kind, 0));
    let null = CopyEnd {
        is_null: true,
        ..terminal
    };
    let [medium, large] = [1023 << 10, 16 << 20].map(|bytes| end(Regular, bytes));
    let chosen = |from: &CopyEnd, to: &CopyEnd, is_without_copies| {
        let output = Answers(None, is_without_copies);
        choice::plan(from, to, false, &output, &Options::new().wishes).technique
    };
    assert_eq!(chosen(&medium, &file, true), Technique::CopyFileRange);
    assert_eq!(chosen(&large, &file, true), Technique::Splice);
    let beginning = Options::new().limit(1023 << 10).wishes;
    let of_large = choice::plan(&large, &file, false, &Answers(None, true), &beginning);
    assert_eq!(of_large.technique, Technique::CopyFileRange);
    let aliasing = |from: &CopyEnd, to: &CopyEnd| {
        let wishes = Options::new().may_alias(true).wishes;
        choice::plan(from, to, false, &Answers(None, true), &wishes).technique
    };
    for (from, to, technique) in [
        (large, pipe, Technique::Splice),
        (file, pipe, Technique::ReadWrite),
        (of_proc, pipe, Technique::ReadWrite),
        (large, socket, Technique::ReadWrite),
        (large, file, Technique::Splice),
    ] {
        assert_eq!(aliasing(&from, &to), technique, "{from:?} to {to:?}");
    }
    for (from, to, technique) in [
        (file, file, Technique::ReadWrite),
        (medium, file, Technique::CopyFileRange),
        (large, file, Technique::CopyFileRange),
        (of_proc, file, Technique::ReadWrite),
        (file, null, Technique::Sendfile),
        // Splicing would put pages of the file into the pipe or socket.
        (file, pipe, Technique::ReadWrite),
        (large, pipe, Technique::ReadWrite),
        (file, socket, Technique::ReadWrite),
        (file, terminal, Technique::ReadWrite),
        (pipe, file, Technique::ReadWrite),
        (pipe, socket, Technique::ReadWrite),
        (pipe, pipe, Technique::Splice),
        (pipe, null, Technique::Splice),
        (socket, pipe, Technique::Splice),
        (socket, socket, Technique::ReadWrite),
        (socket, file, Technique::ReadWrite),
        (terminal, pipe, Technique::ReadWrite),
    ] {
        assert_eq!(chosen(&from, &to, false), technique, "{from:?} to {to:?}");
    }
}

#[test]
fn the_buffer_follows_from_the_output_and_the_size() {
    let usual = Options::new().wishes;
    let most_bytes = |from_bytes, to: FileKind, pipe_bytes, wishes: &Wishes| {
        let (from, output) = (
            end(FileKind::Regular, from_bytes),
            Answers(pipe_bytes, false),
        );
        choice::plan(&from, &end(to, 0), false, &output, wishes).most_bytes
    };
    let to_file = |bytes, wishes: Wishes| most_bytes(bytes, FileKind::Regular, None, &wishes);
    let sizes = [0, 1, 64 << 10, 4 << 20, 16 << 20, 1 << 40];
    let expected = [512, 16, 16, 128, 256, 512].map(|kib| kib << 10);
    assert_eq!(sizes.map(|bytes| to_file(bytes, usual)), expected);
    let buffer_bytes = Some(0);
    assert_eq!(
        to_file(
            1,
            Wishes {
                buffer_bytes,
                ..usual
            }
        ),
        1
    );
    assert_eq!(to_file(0, Wishes { limit: 10, ..usual }), 16 << 10);
    let pipes = [None, Some(4096), Some(65_536), Some(1 << 20), Some(1 << 30)];
    let expected = [32, 16, 32, 512, 512].map(|kib| kib << 10);
    assert_eq!(
        pipes.map(|bytes| most_bytes(0, FileKind::Fifo, bytes, &usual)),
        expected
    );
}
