//! Files, offsets and streams that several threads or processes use.

use crate::advisor::tests::events::*;
use crate::advisor::tests::rules::{SEVERAL_WRITERS, check};
use vectored_strace::event::{Action, Descriptor, OpenFlags, SocketKind};

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
