//! Short writes that wait for a delayed acknowledgement.

use std::fmt::Write as _;

use crate::advisor::tests::texts::tallies_of;
use crate::advisor::wording::sentences::pattern;
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
const UNIX: &str = "UNIX-STREAM:[7->8]";
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
    let stalls = counted.chain(listed).filter(|one| one.0.kind.is_stall());
    let words = stalls.map(|(key, tally, reason)| {
        let stall = tally.stall.unwrap();
        let of_peer = if key.kind == FindingKind::PeerStall { "peer " } else { "" };
        match reason.as_str() {
            "" => format!(
                "{of_peer}{} of {} lost {} ms",
                stall.stalls,
                tally.runs,
                stall.lost_ns / 1_000_000
            ),
            reason => format!("{of_peer}{} of {}: {reason}", stall.stalls, tally.runs),
        }
    });
    words.collect::<Vec<_>>().join("; ")
}

/// Checks the stalls of logs, each by its peer, start and exchange.
fn check(cases: &[(&str, Calls<'_>, Calls<'_>, &str)]) {
    let found = cases.iter().map(|(peer, start, exchange, expected)| {
        let found = stalls(&log(peer, start, exchange));
        (found != *expected)
            .then(|| format!("{found}, not {expected}: {peer}: {start:#?} {exchange:#?}"))
    });
    let wrong: Vec<String> = found.flatten().collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
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
    let stalled = "10 of 11 lost 428 ms";
    let few = "a delayed acknowledgement makes at least half of the exchanges wait";
    let uneven = "the waits differ more than those for a timer do";
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
            "10 of 11 lost 2028 ms",
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
            "10 of 10 lost 428 ms",
        ),
        (
            LOOPBACK,
            connect,
            &[(HEADER, US), (BODY, US), (BODY, US), (ANSWER, WAIT)],
            "10 of 10 lost 428 ms",
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
            "30 of 31 lost 1407 ms",
        ),
        (
            LOOPBACK,
            connect,
            &[
                exchange,
                &[(HEADER, US), (BODY, US), (ANSWER, 90 * MS)].repeat(5),
            ]
            .concat(),
            &format!("60 of 61: {uneven}"),
        ),
        // Answers of a slow peer come before.
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
        // It slept, and then waited: the answer may be late because of the sleep.
        (
            LOOPBACK,
            connect,
            &[
                (HEADER, US),
                (BODY, US),
                ("clock_nanosleep(CLOCK_MONOTONIC, 0, {}, NULL) = 0", 5 * MS),
                (ANSWER, 38 * MS),
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
            "10 of 11: exchanges of a single write wait as long: the other end may be slow",
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
            "10 of 10: no first answer of a connection came sooner: the other end may be slow",
        ),
        // Watched from the middle on.
        (
            LOOPBACK,
            &[SLOW],
            exchange,
            "10 of 10: no first answer of a connection was seen, which would show whether the other end is slow",
        ),
        // Several polls: the last finds the answer; and one that finds it at once, while the program does something else.
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
            "20 of 22 lost 427 ms",
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
    check(cases);
}

/// A server that works for some time before each answer.
#[test]
fn what_the_peer_takes_itself_is_no_part_of_a_stall() {
    let connect: Calls<'_> = &[(SOCKET, US), (CONNECT, 100), SLOW];
    let first = |ms: u64| (ANSWER, ms * MS);
    let own = |ms| [connect, &[(HEADER, US), (BODY, US), first(ms)]].concat();
    let after = |ms| [(HEADER, US), (BODY, US), first(ms)];
    let slow = "no first answer of a connection came sooner: the other end may be slow";
    check(&[
        (LOOPBACK, &own(5), &after(44), "10 of 11 lost 399 ms"),
        (LOOPBACK, &own(30), &after(73), "10 of 11 lost 429 ms"),
        // A busy machine makes the first answer late, or a connection, but not the others sooner.
        (LOOPBACK, &own(28), &after(44), "10 of 11 lost 399 ms"),
        (
            LOOPBACK,
            &[&[(SOCKET, US), (CONNECT, 8 * MS), SLOW][..], &after(1)].concat(),
            &after(44),
            "10 of 11 lost 429 ms",
        ),
        // What delays the program between its calls makes the waits shorter.
        (
            LOOPBACK,
            &own(1),
            &[
                (HEADER, US),
                ("brk(NULL) = 0x5", 15 * MS),
                (BODY, US),
                (ANSWER, 28 * MS),
            ],
            "10 of 11 lost 269 ms",
        ),
        // It takes as long by itself, and has no delay.
        (LOOPBACK, &own(44), &after(44), &format!("11 of 11: {slow}")),
        (LOOPBACK, &own(73), &after(73), &format!("11 of 11: {slow}")),
    ]);
}

/// The other end writes a message in parts.
#[test]
fn a_message_that_comes_in_parts_waits_for_the_acknowledgement_of_this_end() {
    let request = "write(3<PEER>, \"q\"..., 100) = 100";
    let head = "recvfrom(3<PEER>, \"h\"..., 4096, 0, NULL, NULL) = 100";
    let rest = "recvfrom(3<PEER>, \"b\"..., 4096, 0, NULL, NULL) = 500";
    let whole = "recvfrom(3<PEER>, \"h\"..., 4096, 0, NULL, NULL) = 600";
    let start: Calls<'_> = &[(SOCKET, US), (CONNECT, 100), SLOW];
    let at_once = [start, &[(request, US), (whole, 100)]].concat();
    let in_parts = |ms: u64| [start, &[(request, US), (head, 100), (rest, ms * MS)]].concat();
    let stalled: Calls<'_> = &[(request, US), (head, 100), (rest, WAIT)];
    let slow = "no first answer of a connection came sooner: the other end may be slow";
    let nine = "peer 9 of 9 lost 387 ms";
    check(&[
        (LOOPBACK, &at_once, stalled, nine),
        (REMOTE, &at_once, stalled, nine),
        (LOOPBACK, &in_parts(0), stalled, "peer 9 of 10 lost 387 ms"),
        (
            LOOPBACK,
            &at_once,
            &[(request, US), (head, 30 * MS), (rest, WAIT)],
            nine,
        ),
        (
            LOOPBACK,
            &at_once,
            &[(request, US), (head, US), (POLL, WAIT), (rest, US)],
            nine,
        ),
        // Three parts: the last two come together, or one after the other.
        (
            LOOPBACK,
            &at_once,
            &[(request, US), (head, US), (rest, WAIT), (rest, 100)],
            nine,
        ),
        (UNIX, &at_once, stalled, ""),
        // The other end takes as long itself.
        (
            LOOPBACK,
            &in_parts(40),
            stalled,
            &format!("peer 9 of 10: {slow}"),
        ),
        (
            LOOPBACK,
            &at_once,
            &[(request, US), (head, US), (rest, 30 * MS)],
            "",
        ),
        (
            LOOPBACK,
            &at_once,
            &[(request, US), (head, US), (rest, WAIT), (rest, WAIT)],
            "",
        ),
        // This end slept, or did something else.
        (
            LOOPBACK,
            &at_once,
            &[
                (request, US),
                (head, US),
                ("clock_nanosleep(CLOCK_MONOTONIC, 0, {}, NULL) = 0", 43 * MS),
                (rest, US),
            ],
            "",
        ),
        (
            LOOPBACK,
            &at_once,
            &[
                (request, US),
                (head, US),
                ("brk(NULL) = 0x5", WAIT),
                (rest, US),
            ],
            "",
        ),
        // A connection from before the log.
        (LOOPBACK, &[SLOW], stalled, &format!("peer 9 of 9: {slow}")),
    ]);
}

/// A log with both ends, the second in another thread: that reads the message in two parts, the second after `wait_ms`, works
/// for `work_ms`, and answers.
#[test]
fn a_peer_in_the_log_shows_what_it_takes_itself() {
    let with = |wait_ms: u64, work_ms: u64| {
        let peer = "TCP:[127.0.0.1:80->127.0.0.1:40000]";
        let (mut text, mut now_us) = (String::new(), 1_795_646_912_000_000_u64);
        let mut line = |thread: u32, at: u64, call: &str, took: u64| {
            let call = call.replace("PEER", LOOPBACK);
            let _ = writeln!(text, "{thread} {} {call} <{}>", us(at), us(took));
        };
        line(1, now_us - 100, SOCKET, US);
        line(1, now_us - 50, CONNECT, US);
        for _ in 0..10 {
            let (wait, work) = (wait_ms * MS, work_ms * MS);
            line(1, now_us, HEADER, US);
            line(1, now_us + 20, BODY, US);
            line(
                2,
                now_us + 30,
                &format!("read(4<{peer}>, \"h\"..., 4096) = 8"),
                US,
            );
            line(
                2,
                now_us + 40,
                &format!("read(4<{peer}>, \"b\"..., 4096) = 100"),
                wait,
            );
            line(
                2,
                now_us + 50 + wait + work,
                &format!("write(4<{peer}>, \"a\"..., 50) = 50"),
                US,
            );
            line(1, now_us + 30, ANSWER, wait + work + 50);
            now_us += wait + work + 200;
        }
        stalls(&text)
    };
    assert_eq!(with(43, 0), "10 of 10 lost 430 ms");
    assert_eq!(with(43, 30), "10 of 10 lost 430 ms");
    assert_eq!(with(0, 43), "");
    assert_eq!(with(0, 100), "");
}

#[test]
fn the_end_that_accepted_waits_for_requests() {
    let exchange = &[(HEADER, US), (BODY, US), (ANSWER, WAIT)][..];
    let accept = ("accept(4<TCP:[8]>, NULL, NULL) = 3<PEER>", US);
    let no_delay = (
        "getsockopt(4<TCP:[8]>, SOL_TCP, TCP_NODELAY, [0], [4]) = 0",
        US,
    );
    let listen = ("socket(AF_INET, SOCK_STREAM, IPPROTO_IP) = 4<TCP:[8]>", US);
    for (start, next) in [
        (&[listen, no_delay, accept][..], "then the next request)"),
        (&[(SOCKET, US), (CONNECT, 50)], "then an answer)"),
    ] {
        let tallies = tallies_of(&log(LOOPBACK, start, exchange), true);
        let stalls = tallies
            .findings
            .iter()
            .filter(|(key, _)| key.kind == FindingKind::Stall);
        let text: String = stalls.map(|(key, tally)| pattern(key, tally)).collect();
        assert!(text.ends_with(next), "{text}");
    }
}
