//! Files, offsets and streams that several threads or processes use.

use crate::advisor::tests::events::*;
use crate::advisor::tests::rules::{SEVERAL_WRITERS, check};
use vectored_strace::event::{Action, Descriptor, Form, OpenFlags, SocketKind};

#[test]
fn writes_by_several_threads_or_processes_are_listed() {
    let in_turn = format!("adjacent-writes file 3→1: write 4 {SEVERAL_WRITERS}");
    let both = [write(3, 8), write(3, 8).by(2), write(3, 8)];
    for makes in [thread(2), fork(2)] {
        let lines = [vec![open(3), makes], both.to_vec()].concat();
        check(&lines, &[&in_turn]);
    }
    // In this log one after the other, by chance.
    let in_a_row = format!("adjacent-writes file 4→2: write 4 {SEVERAL_WRITERS}");
    let one = [write(3, 8), write(3, 8)];
    let other = one.clone().map(|line| line.by(2));
    for makes in [thread(2), fork(2)] {
        let lines = [vec![open(3), makes], one.to_vec(), other.to_vec()].concat();
        check(&lines, &[&in_a_row]);
    }
    // Through open file descriptions of their own, too.
    let lines = [
        vec![fork(2), open_at(3, "a"), open_at(3, "a").by(2)],
        one.to_vec(),
        other.to_vec(),
    ];
    check(&lines.concat(), &[&in_a_row]);
    // Of different files they do not disturb each other.
    check! {
        open(3), open(4), thread(2), write(3, 8), write(4, 8).by(2), write(3, 8), write(4, 8).by(2)
        => "adjacent-writes file 2→1: write 4 [adjacent]", "adjacent-writes file 2→1: write 4 [adjacent]"
    }
}

#[test]
fn writers_that_wait_for_each_other_are_counted() {
    let wait = |child| line("wait4", vectored_strace::event::Action::Wait { child });
    let child = |number: u32| {
        let lines = [fork(number), write(3, 8).by(number), write(3, 8).by(number)];
        [lines.to_vec(), vec![exit().by(number)]].concat()
    };
    let own = || vec![write(3, 8), write(3, 8)];
    let waited = [
        own(),
        child(2),
        vec![wait(2)],
        child(5),
        vec![wait(5)],
        own(),
    ];
    check(
        &[vec![open(3)], waited.concat()].concat(),
        &["adjacent-writes file 8→4: write 4 [adjacent]"],
    );
    // No wait: the order after the fork is by chance.
    let expected = format!("adjacent-writes file 4→2: write 4 {SEVERAL_WRITERS}");
    check(&[vec![open(3)], child(2), own()].concat(), &[&expected]);
    check(&[vec![open(3)], child(2), child(5)].concat(), &[&expected]);
    // The wait is by a process that is not known to come before the second writer.
    let lines = [
        vec![open(3), fork(7), fork(9)],
        child(2),
        vec![wait(2)],
        own().into_iter().map(|line| line.by(9)).collect(),
    ];
    check(&lines.concat(), &[&expected]);
}

#[test]
fn reads_by_several_at_one_offset_are_listed() {
    let shared = "(another thread or process uses the same offset, and would continue at a different offset)";
    let one = [read(3, 8), read(3, 8)];
    let other = one.clone().map(|line| line.by(2));
    let expected = format!("small-reads file 4→2: read 4 {shared}");
    let lines = [vec![open(3), thread(2)], one.to_vec(), other.to_vec()];
    check(&lines.concat(), &[&expected]);
    // A child that comes later reads on from there.
    let expected = format!("small-reads file 2→1: read 4 {shared}");
    let lines = [vec![open(3)], one.to_vec(), vec![fork(2), read(3, 8).by(2)]];
    check(&lines.concat(), &[&expected]);
    let lines = [
        vec![open(3), thread(2)],
        one.to_vec(),
        vec![seek(3, 0).by(2)],
    ];
    check(&lines.concat(), &[&expected]);
}

#[test]
fn a_shared_offset_is_not_read_ahead() {
    let shared = "small-reads file 2→1: read 4 (another thread or process uses the same offset, and would continue at a different offset)";
    check(&[open(3), fork(2), read(3, 8), read(3, 8)], &[shared]);
    // Once the child has closed it, nobody shares it.
    check! { open(3), fork(2), close(3).by(2), read(3, 8), read(3, 8) => "small-reads file 2→1: read 4 [adjacent]" }
    check! { open(3), fork(2), exit().by(2), read(3, 8), read(3, 8) => "small-reads file 2→1: read 4 [adjacent]" }
    check! {
        read(0, 8).to("/tmp/x"), read(0, 8).to("/tmp/x")
        => "small-reads file 2→1: read 4 (open before the log began: another process may share the offset, and read on from it)"
    }
}

#[test]
fn a_stream_that_several_processes_write_to_is_listed() {
    for (makes, target, bytes) in [
        (pipe(3, 4), "pipe", 8),
        (pipe(3, 4), "pipe", 3000),
        (socket(4, SocketKind::UnixStream), "unix", 8),
        (socket(4, SocketKind::Tcp), "tcp", 8),
    ] {
        let class = u64::BITS - u64::leading_zeros(bytes);
        let expected = format!("adjacent-writes {target} 2→1: write {class} {SEVERAL_WRITERS}");
        let own = vec![write(4, bytes); 2];
        let lines = [
            vec![makes.clone(), fork(2)],
            own.clone(),
            vec![write(4, 1).by(2)],
        ];
        check(&lines.concat(), &[&expected]);
        let lines = [vec![makes, fork(2), write(4, 1).by(2)], own];
        check(&lines.concat(), &[&expected]);
    }
}

#[test]
fn reads_of_a_stream_that_one_thread_has_are_counted_and_all_others_are_listed() {
    let made = |lines: Vec<Line>| [vec![socket(3, SocketKind::Tcp)], lines].concat();
    let others = "small-reads tcp 3→1: read 1 (several threads or processes read the stream, or may: \
                  a larger buffer would take bytes meant for another)";
    let reads = vec![read(3, 1); 3];
    check(
        &made(reads.clone()),
        &["small-reads tcp 3→1: read 1 [reads-ahead]"],
    );
    // Even if another process gets the stream later, or another thread reads it once.
    check(&made([reads.clone(), vec![fork(2)]].concat()), &[others]);
    check(
        &made([vec![thread(2)], reads.clone(), vec![read(3, 1).by(2)]].concat()),
        &[others],
    );
    check(&made([vec![fork(2)], reads.clone()].concat()), &[others]);
    // Unless it is closed when that runs a program.
    let closes = line(
        "fcntl",
        Action::SetCloseOnExec {
            descriptor: fd(3),
            close_on_exec: true,
        },
    );
    check(
        &made([vec![closes], reads.clone(), vec![fork(2)]].concat()),
        &["small-reads tcp 3→1: read 1 [reads-ahead]"],
    );
    // The second read may be the reply to a request between the two.
    let asks = vec![read(3, 1), write(3, 9), read(3, 1)];
    check(
        &made(asks),
        &[
            "small-reads tcp 2→1: read 1 (a write to a pipe or socket between them, which these bytes may answer)",
        ],
    );
    // Inherited: others may read it.
    let inherited: Vec<Line> = reads.into_iter().map(|line| line.to("pipe:[7]")).collect();
    check(
        &inherited,
        &[
            "small-reads pipe 3→1: read 1 (open before the log began: another process may read the stream, and a larger buffer would take bytes meant for it)",
        ],
    );
}

#[test]
fn bytes_that_another_program_reads_are_not_read_ahead() {
    let reads = || vec![read(3, 1); 3];
    let stream = |lines: Vec<Line>| [vec![socket(3, SocketKind::Tcp)], lines].concat();
    let file = |lines: Vec<Line>| [vec![open(3)], lines].concat();
    let of_stream = "small-reads tcp 3→1: read 1 (several threads or processes read the stream, or may: \
                     a larger buffer would take bytes meant for another)";
    let of_file = "small-reads file 3→1: read 1 (another thread or process uses the same offset, and would \
                   continue at a different offset)";
    // `read line; exec cat`: the next program has the same thread.
    let next = vec![execve("/bin/cat"), read(3, 64)];
    check(&stream([reads(), next.clone()].concat()), &[of_stream]);
    check(&file([reads(), next].concat()), &[of_file]);
    // The log may not show how a later program uses a stream; the offset of a file matters only to a program
    // that uses it.
    let runs = vec![execve("/bin/true")];
    check(&stream([reads(), runs.clone()].concat()), &[of_stream]);
    let counted = "small-reads file 3→1: read 1 [adjacent]";
    check(&file([reads(), runs].concat()), &[counted]);
    // In a child that keeps only a duplicate.
    let closes = line(
        "fcntl",
        Action::SetCloseOnExec {
            descriptor: fd(3),
            close_on_exec: true,
        },
    );
    let child = vec![fork(2), dup(3, 0).by(2), execve("/bin/cat").by(2)];
    check(
        &stream([vec![closes], reads(), child].concat()),
        &[of_stream],
    );
}

#[test]
fn a_stream_that_is_opened_by_name_or_passed_on_is_not_read_ahead() {
    const PIPE: &str = "pipe:[7]";
    let named = |number| Descriptor {
        leads_to: Some(PIPE.as_bytes()),
        ..fd(number)
    };
    let made = line(
        "pipe2",
        Action::Pipe {
            read: named(3),
            write: named(4),
            packets: false,
            close_on_exec: false,
        },
    );
    let by_name = line(
        "openat",
        Action::Open {
            descriptor: named(5),
            path: b"/dev/fd/3",
            folder: None,
            flags: OpenFlags::default(),
        },
    );
    let others = "several threads or processes read the stream, or may: a larger buffer would take \
                  bytes meant for another";
    let listed = |calls| format!("small-reads pipe {calls}→1: read 1 ({others})");
    let reads = |number| vec![read(number, 1).to(PIPE); 3];
    // The other descriptor may be read before, after or in between.
    for places in [[3, 5], [5, 3]] {
        let lines = [
            vec![made.clone(), by_name.clone()],
            reads(places[0]),
            reads(places[1]),
        ];
        let both = listed(6).replace("→1", "→2");
        check(&lines.concat(), &[&both]);
    }
    check(
        &[vec![made.clone(), by_name], reads(5)].concat(),
        &[&listed(3)],
    );
    // Only written: there is no other reader.
    let counted = "small-reads pipe 3→1: read 1 [reads-ahead]";
    let writes = vec![write(4, 8).to(PIPE)];
    check(&[vec![made.clone()], writes, reads(3)].concat(), &[counted]);
    // A descriptor is sent with a message; its receiver may read before or after.
    let sends = write(6, 2).but(|transfer| transfer.addressed = true);
    let socket = socket(6, SocketKind::UnixStream);
    check(
        &[vec![made.clone(), socket.clone()], reads(3), vec![sends]].concat(),
        &[&listed(3)],
    );
    // It shows under another number in another process.
    let stranger = vec![thread(2), read(9, 64).to(PIPE).by(7)];
    check(&[vec![made], reads(3), stranger].concat(), &[&listed(3)]);
    // Descriptors are received with bytes; `read` would drop them.
    let comes = read(6, 2).but(|transfer| transfer.addressed = true);
    check(
        &[vec![socket], vec![read(6, 1); 3], vec![comes]].concat(),
        &[
            "small-reads unix 3→1: read 1 (descriptors or credentials came with some of its bytes: \
             a larger buffer would lose them)",
        ],
    );
}

#[test]
fn seeks_are_not_left_out_if_another_goes_on_from_the_offset() {
    let at_places = |call: fn(i32, u64) -> Line| -> Vec<Line> {
        let places = [100, 200, 300];
        let calls = places.map(|place| vec![seek(3, place), call(3, 8)]);
        [vec![open(3), call(3, 8)], calls.concat()].concat()
    };
    let waits = line("wait4", Action::Wait { child: 2 });
    let child = |last: Line| vec![fork(2), last.by(2), exit().by(2), waits.clone()];
    let next = vec![execve("/bin/echo"), write(3, 5)];
    for (call, name) in [(write as fn(i32, u64) -> Line, "write"), (read, "read")] {
        let counted = format!("seek-then-transfer file 7→4: lseek 0, {name} 4 [adjacent]");
        check(&at_places(call), &[&counted]);
        let why = "another thread or process uses the same offset, and would continue at a different offset";
        let listed = format!("seek-then-transfer file 7→4: lseek 0, {name} 4 ({why})");
        for others in [
            child(write(3, 5)),
            child(read(3, 5)),
            child(tell(3, 308)),
            next.clone(),
            vec![fork(2), exit(), write(3, 5).by(2)],
        ] {
            check(&[at_places(call), others].concat(), &[&listed]);
        }
        // The next program does not have it.
        let closes = Action::SetCloseOnExec {
            descriptor: fd(3),
            close_on_exec: true,
        };
        let lines = [vec![line("fcntl", closes), execve("/bin/echo")]].concat();
        check(&[at_places(call), lines].concat(), &[&counted]);
    }
}

#[test]
fn bytes_that_splice_moves_are_not_read_ahead() {
    let moves = |from| {
        write(8, 100).but(|transfer| {
            transfer.from = Some(fd(from));
            transfer.form = Form::Opaque;
            transfer.segment_bytes = None;
        })
    };
    let why =
        "sendfile, splice or tee from it: a larger buffer would take bytes that it is to move";
    for (made, target) in [(open(3), "file"), (pipe(3, 4), "pipe")] {
        let reads = vec![read(3, 4); 3];
        let lines = [vec![made, open(8)], reads, vec![moves(3)]].concat();
        check(
            &lines,
            &[&format!("small-reads {target} 3→1: read 3 ({why})")],
        );
    }
}
