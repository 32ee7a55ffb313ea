//! Short writes that wait for a delayed acknowledgement.

use std::fmt::Write as _;

use crate::advisor::tests::texts::tallies_of;
use crate::model::FindingKind;

const SOCKET: &str = "socket(AF_INET, SOCK_STREAM, IPPROTO_IP) = 3<TCP:[9]>";
const CONNECT: &str = "connect(3<TCP:[9]>, {sa_family=AF_INET}, 16) = 0";
const HEADER: &str = "write(3<PEER>, \"h\"..., 8) = 8";
const BODY: &str = "write(3<PEER>, \"b\"..., 100) = 100";
const ANSWER: &str = "read(3<PEER>, \"a\"..., 4096) = 50";
const POLL: &str = "poll([{fd=3<PEER>, events=POLLIN}], 1, -1) = 1 ([{fd=3, revents=POLLIN}])";
const TIMER: &str = "poll([{fd=3<PEER>, events=POLLIN}], 1, 20) = 0 (Timeout)";
const HEADER_4: &str = "write(4<PEER>, \"h\"..., 8) = 8";
const BODY_4: &str = "write(4<PEER>, \"b\"..., 100) = 100";
const ANSWER_4: &str = "read(4<PEER>, \"a\"..., 4096) = 50";
const NO_DELAY: &str = "setsockopt(3<TCP:[9]>, SOL_TCP, TCP_NODELAY, [1], 4) = 0";
const LOOPBACK: &str = "TCP:[127.0.0.1:40000->127.0.0.1:80]";
const REMOTE: &str = "TCP:[10.0.0.1:40000->10.0.0.2:80]";

const US: u64 = 1;
const MS: u64 = 1000;
const WAIT: u64 = 43 * MS;

/// Calls, and how long they take in µs.
type Calls<'c> = &'c [(&'c str, u64)];

/// No first exchange that is quick.
const SLOW: (&str, u64) = ("", 0);

/// A log, at first `start`, an exchange that is quick unless [`SLOW`] is in it, then ten times `exchange`. `PEER` stands
/// for `peer`.
fn log(peer: &str, start: Calls<'_>, exchange: Calls<'_>) -> String {
    let (mut text, mut now_us) = (String::new(), 1_795_646_912_000_000_u64);
    let quick = [(HEADER, US), (BODY, US), (ANSWER, 100)];
    let first = if start.contains(&SLOW) { &[][..] } else { &quick };
    let calls = start.iter().chain(first);
    let calls = calls.chain((0..10).flat_map(|_| exchange));
    for (call, took_us) in calls.filter(|call| **call != SLOW) {
        let call = call.replace("PEER", peer);
        let (took, at) = (us(*took_us), us(now_us));
        let _ = writeln!(text, "1 {at} {call} <{took}>");
        now_us += took_us + 20;
    }
    text
}

fn us(time: u64) -> String {
    format!("{}.{:06}", time / 1_000_000, time % 1_000_000)
}

/// The stalls of a log: their number and the time that they lost in ms, or the reason why they are not certain.
fn stalls(log: &str) -> String {
    let tallies = tallies_of(log, true);
    let counted = tallies
        .findings
        .into_iter()
        .map(|(key, tally)| (key, tally, String::new()));
    let listed = tallies
        .uncounted
        .into_iter()
        .map(|((key, reason), tally)| (key, tally, reason));
    let stalls = counted
        .chain(listed)
        .filter(|one| one.0.kind == FindingKind::Stall);
    let words = stalls.map(|(_, tally, reason)| {
        let stall = tally.stall.unwrap();
        match reason.as_str() {
            "" => format!(
                "{} of {} lost {} ms",
                stall.stalls,
                tally.runs,
                stall.lost_ns / 1_000_000
            ),
            reason => format!("{} of {}: {reason}", stall.stalls, tally.runs),
        }
    });
    words.collect::<Vec<_>>().join("; ")
}

#[test]
fn a_message_in_parts_that_waits_for_an_acknowledgement_stalls() {
    let connect: Calls<'_> = &[(SOCKET, US), (CONNECT, 100)];
    let exchange: Calls<'_> = &[(HEADER, US), (BODY, US), (ANSWER, WAIT)];
    let no_delay = [connect, &[(NO_DELAY, US)]].concat();
    let by_number = "setsockopt(3<TCP:[9]>, 0x6, 0x1, [1], 4) = 0";
    let listener = [
        ("socket(AF_INET, SOCK_STREAM, IPPROTO_IP) = 4<TCP:[8]>", US),
        (
            "setsockopt(4<TCP:[8]>, SOL_TCP, TCP_NODELAY, [1], 4) = 0",
            US,
        ),
        ("accept(4<TCP:[8]>, NULL, NULL) = 3<PEER>", US),
    ];
    let accepted = [listener[0], listener[2], (ANSWER, WAIT)];
    let cork = |on: &'static str| {
        let call = [
            "setsockopt(3<PEER>, SOL_TCP, TCP_CORK, [1], 4) = 0",
            "setsockopt(3<PEER>, SOL_TCP, TCP_CORK, [0], 4) = 0",
        ];
        (call[usize::from(on == "off")], US)
    };
    let other = [
        ("socket(AF_INET, SOCK_STREAM, IPPROTO_IP) = 4<TCP:[8]>", US),
        ("connect(4<TCP:[8]>, {sa_family=AF_INET}, 16) = 0", 100),
        (HEADER_4, US),
        (BODY_4, US),
        (ANSWER_4, 100),
    ];
    let stalled = "10 of 11 lost 429 ms";
    let few = "fewer than three, or fewer than half, of these exchanges waited as long, or the waits differ too much";
    let cases: &[(&str, Calls<'_>, Calls<'_>, &str)] = &[
        (LOOPBACK, connect, exchange, stalled),
        (REMOTE, connect, exchange, stalled),
        // The program waits in poll, also several times.
        (
            LOOPBACK,
            connect,
            &[(HEADER, US), (BODY, US), (POLL, WAIT), (ANSWER, US)],
            stalled,
        ),
        // Other systems acknowledge after 200 ms.
        (
            LOOPBACK,
            connect,
            &[(HEADER, US), (BODY, US), (ANSWER, 203 * MS)],
            "10 of 11 lost 2029 ms",
        ),
        // A long first part, and more than two.
        (
            LOOPBACK,
            connect,
            &[
                ("write(3<PEER>, \"h\"..., 90000) = 90000", US),
                (BODY, US),
                (ANSWER, WAIT),
            ],
            "10 of 10 lost 429 ms",
        ),
        (
            LOOPBACK,
            connect,
            &[(HEADER, US), (BODY, US), (BODY, US), (ANSWER, WAIT)],
            "10 of 10 lost 429 ms",
        ),
        // A server that answers in two parts and waits for the next request.
        (LOOPBACK, &accepted, exchange, stalled),
        // The kernel does not wait, or sends one segment.
        (LOOPBACK, &no_delay, exchange, ""),
        (
            LOOPBACK,
            &[connect, &[(by_number, US)]].concat(),
            exchange,
            "",
        ),
        (LOOPBACK, &listener, exchange, ""),
        (
            LOOPBACK,
            connect,
            &[
                cork("on"),
                (HEADER, US),
                (BODY, US),
                cork("off"),
                (ANSWER, WAIT),
            ],
            "",
        ),
        (
            LOOPBACK,
            connect,
            &[
                ("sendto(3<PEER>, \"h\"..., 8, MSG_MORE, NULL, 0) = 8", US),
                (BODY, US),
                (ANSWER, WAIT),
            ],
            "",
        ),
        (
            LOOPBACK,
            connect,
            &[
                (
                    "writev(3<PEER>, [{iov_base=\"h\"..., iov_len=8}, {iov_base=\"b\"..., iov_len=9}], 2) = 17",
                    US,
                ),
                (ANSWER, WAIT),
            ],
            "",
        ),
        // A whole segment does not wait.
        (
            REMOTE,
            connect,
            &[
                (HEADER, US),
                ("write(3<PEER>, \"b\"..., 1460) = 1460", US),
                (ANSWER, WAIT),
            ],
            "",
        ),
        // The first part is acknowledged long before the second is written.
        (
            LOOPBACK,
            connect,
            &[
                (HEADER, US),
                ("brk(NULL) = 0x5", 50 * MS),
                (BODY, US),
                (ANSWER, WAIT),
            ],
            "",
        ),
        // A busy machine makes some waits longer.
        (
            LOOPBACK,
            connect,
            &[
                exchange,
                exchange,
                &[(HEADER, US), (BODY, US), (ANSWER, 90 * MS)],
            ]
            .concat(),
            "30 of 31 lost 1408 ms",
        ),
        (
            LOOPBACK,
            connect,
            &[
                exchange,
                &[(HEADER, US), (BODY, US), (ANSWER, 90 * MS)].repeat(5),
            ]
            .concat(),
            &format!("60 of 61: {few}"),
        ),
        // The answers of a slow peer come before, too.
        (
            LOOPBACK,
            connect,
            &[exchange, &[(HEADER, US), (BODY, US), (ANSWER, 30 * MS)]].concat(),
            &format!("10 of 21: {few}"),
        ),
        // The peer is quicker, or slower.
        (
            LOOPBACK,
            connect,
            &[(HEADER, US), (BODY, US), (ANSWER, 3 * MS)],
            "",
        ),
        (
            LOOPBACK,
            connect,
            &[(HEADER, US), (BODY, US), (ANSWER, 85 * MS)],
            "",
        ),
        // The program slept, or waited for a timer.
        (
            LOOPBACK,
            connect,
            &[
                (HEADER, US),
                (BODY, US),
                ("clock_nanosleep(CLOCK_MONOTONIC, 0, {}, NULL) = 0", 43 * MS),
                (ANSWER, US),
            ],
            "",
        ),
        (
            LOOPBACK,
            connect,
            &[(HEADER, US), (BODY, US), (TIMER, WAIT), (ANSWER, US)],
            "",
        ),
        // The peer takes as long for requests of one write.
        (
            LOOPBACK,
            connect,
            &[
                (HEADER, US),
                (BODY, US),
                (ANSWER, WAIT),
                (BODY, US),
                (ANSWER, WAIT),
            ],
            "10 of 11: exchanges of a single write wait as long: the peer may be slow",
        ),
        (
            LOOPBACK,
            connect,
            &[
                (HEADER, US),
                (BODY, US),
                (ANSWER, WAIT),
                (BODY, US),
                (ANSWER, MS),
            ],
            stalled,
        ),
        // One of four exchanges.
        (
            LOOPBACK,
            connect,
            &[
                exchange,
                &[(HEADER, US), (BODY, US), (ANSWER, MS)].repeat(3),
            ]
            .concat(),
            &format!("10 of 41: {few}"),
        ),
        // The peer is never quick, so it may be slow.
        (
            LOOPBACK,
            &[connect, &[SLOW]].concat(),
            exchange,
            "10 of 10: no connection had a quick first answer: the peer may be slow",
        ),
        // Several polls, of which the last finds the answer; and one that finds it at once, while the program does something else.
        (
            LOOPBACK,
            connect,
            &[
                (HEADER, US),
                (BODY, US),
                (TIMER, 20 * MS),
                (POLL, 23 * MS),
                (ANSWER, US),
            ],
            stalled,
        ),
        (
            LOOPBACK,
            connect,
            &[
                (HEADER, US),
                (BODY, US),
                (POLL, US),
                ("brk(NULL) = 0x5", WAIT),
                (ANSWER, US),
            ],
            "",
        ),
        // The end of the stream is sent at once, with all before it.
        (
            LOOPBACK,
            connect,
            &[
                (HEADER, US),
                (BODY, US),
                ("shutdown(3<PEER>, SHUT_WR) = 0", US),
                (ANSWER, WAIT),
            ],
            "",
        ),
        // Two answers that are waited for at the same time lose it once.
        (
            LOOPBACK,
            &[connect, &other].concat(),
            &[
                (HEADER, US),
                (BODY, US),
                (HEADER_4, US),
                (BODY_4, US),
                (POLL, WAIT),
                (ANSWER, US),
                (ANSWER_4, US),
            ],
            "20 of 22 lost 429 ms",
        ),
        // Nothing is known of the socket's options.
        (
            LOOPBACK,
            &[],
            exchange,
            "10 of 11: TCP_NODELAY may have been set before the log began",
        ),
        (REMOTE, &[(SOCKET, US)], exchange, stalled),
        // A long way: the answer comes after the acknowledgement, or without it.
        (
            REMOTE,
            &[(SOCKET, US), (CONNECT, 43 * MS)],
            &[(HEADER, US), (BODY, US), (ANSWER, 86 * MS)],
            "10 of 11: a round trip to the peer takes about as long",
        ),
        (REMOTE, &[(SOCKET, US), (CONNECT, 43 * MS)], exchange, ""),
    ];
    for (peer, start, exchange, expected) in cases {
        let log = log(peer, start, exchange);
        assert_eq!(stalls(&log), *expected, "{peer}: {start:#?} {exchange:#?}");
    }
}
