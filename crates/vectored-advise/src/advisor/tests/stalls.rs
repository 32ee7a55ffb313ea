//! Short writes that wait for a delayed acknowledgement.

use std::fmt::Write as _;

use crate::advisor::tests::logs::{read_with, whole};
use crate::model::FindingKind;

/// Lines with the short name of a call, then the call. `PEER` stands for the text of the socket. The last four calls
/// are for messages from the other end: `request` asks for an answer, `head` and `rest` read it in two parts, and
/// `whole` reads it at once.
const CALLS: &str = r#"socket socket(AF_INET, SOCK_STREAM, IPPROTO_IP) = 3<TCP:[9]>
connect connect(3<TCP:[9]>, {sa_family=AF_INET}, 16) = 0
socket4 socket(AF_INET, SOCK_STREAM, IPPROTO_IP) = 4<TCP:[8]>
connect4 connect(4<TCP:[8]>, {sa_family=AF_INET}, 16) = 0
accept accept(4<TCP:[8]>, NULL, NULL) = 3<PEER>
no-delay setsockopt(3<TCP:[9]>, SOL_TCP, TCP_NODELAY, [1], 4) = 0
0x6,0x1 setsockopt(3<TCP:[9]>, 0x6, 0x1, [1], 4) = 0
no-delay4 setsockopt(4<TCP:[8]>, SOL_TCP, TCP_NODELAY, [1], 4) = 0
delay4 getsockopt(4<TCP:[8]>, SOL_TCP, TCP_NODELAY, [0], [4]) = 0
cork setsockopt(3<PEER>, SOL_TCP, TCP_CORK, [1], 4) = 0
uncork setsockopt(3<PEER>, SOL_TCP, TCP_CORK, [0], 4) = 0
header write(3<PEER>, "h"..., 8) = 8
body write(3<PEER>, "b"..., 100) = 100
answer read(3<PEER>, "a"..., 4096) = 50
header4 write(4<PEER>, "h"..., 8) = 8
body4 write(4<PEER>, "b"..., 100) = 100
answer4 read(4<PEER>, "a"..., 4096) = 50
long write(3<PEER>, "h"..., 90000) = 90000
segment write(3<PEER>, "b"..., 1460) = 1460
more sendto(3<PEER>, "h"..., 8, MSG_MORE, NULL, 0) = 8
list writev(3<PEER>, [{iov_base="h"..., iov_len=8}, {iov_base="b"..., iov_len=9}], 2) = 17
poll poll([{fd=3<PEER>, events=POLLIN}], 1, -1) = 1 ([{fd=3, revents=POLLIN}])
timer poll([{fd=3<PEER>, events=POLLIN}], 1, 20) = 0 (Timeout)
sleep clock_nanosleep(CLOCK_MONOTONIC, 0, {}, NULL) = 0
brk brk(NULL) = 0x5
shutdown shutdown(3<PEER>, SHUT_WR) = 0
request write(3<PEER>, "q"..., 100) = 100
head recvfrom(3<PEER>, "h"..., 4096, 0, NULL, NULL) = 100
rest recvfrom(3<PEER>, "b"..., 4096, 0, NULL, NULL) = 500
whole recvfrom(3<PEER>, "h"..., 4096, 0, NULL, NULL) = 600"#;

const PEERS: &str = "\
loopback TCP:[127.0.0.1:40000->127.0.0.1:80]
remote TCP:[10.0.0.1:40000->10.0.0.2:80]
unix UNIX-STREAM:[7->8]";

fn find(table: &'static str, word: &str) -> &'static str {
    let mut pairs = table.lines().filter_map(|line| line.split_once(' '));
    let found = pairs.find(|known| known.0 == word);
    found.unwrap_or_else(|| panic!("{word}")).1
}

/// The log of a scene `PEER START | EXCHANGE`: first `START`, then a quick exchange unless `START` contains `slow`,
/// then ten times `EXCHANGE`. A call lasts 1 µs, and `CALL/43` lasts 43 ms.
fn log(scene: &str) -> String {
    let (peer, scene) = scene.split_once(' ').unwrap();
    let (start, exchange) = scene.split_once("| ").unwrap();
    let quick = if start.contains("slow") { "" } else { "header body answer/0.1" };
    let ten = [exchange; 10].join(" ");
    let (mut text, mut now_us) = (String::new(), 1_795_646_912_000_000_u64);
    let words = [start, quick, &ten]
        .into_iter()
        .flat_map(str::split_whitespace);
    for word in words.filter(|word| *word != "slow") {
        let (word, ms) = word.split_once('/').unwrap_or((word, "0.001"));
        let took_us = (ms.parse::<f64>().unwrap() * 1000.0).round() as u64;
        let call = find(CALLS, word).replace("PEER", find(PEERS, peer));
        let _ = writeln!(text, "1 {} {call} <{}>", us(now_us), us(took_us));
        now_us += took_us + 20;
    }
    text
}

fn us(time: u64) -> String {
    format!("{}.{:06}", time / 1_000_000, time % 1_000_000)
}

/// The stalls of a log: their number, and the time that they lost in ms or the reason why they are not certain.
fn stalls(log: &str) -> String {
    let tallies = read_with(log, whole());
    let stalls = tallies
        .found
        .into_iter()
        .filter(|one| one.0.0.kind.is_stall());
    let words = stalls.map(|((key, reason), tally)| {
        let stall = tally.stall.unwrap();
        let of_peer = match key.kind {
            FindingKind::PeerStall => "peer ",
            _ if stall.serves => "server ",
            _ => "",
        };
        match reason {
            None => format!(
                "{of_peer}{} of {} lost {} ms",
                stall.stalls,
                tally.runs,
                stall.lost_ns / 1_000_000
            ),
            Some(reason) => format!("{of_peer}{} of {}: {reason}", stall.stalls, tally.runs),
        }
    });
    words.collect::<Vec<_>>().join("; ")
}

/// Checks lines `PEER START | EXCHANGE => STALLS`. The text of [`stalls`] begins with `STALLS`.
fn check(table: &str) {
    let wrong = table.lines().filter_map(|line| {
        let (scene, expected) = line.split_once(" => ").unwrap();
        let found = stalls(&log(scene));
        let agrees = if expected == "-" { found.is_empty() } else { found.starts_with(expected) };
        (!agrees).then(|| format!("{line}: {found}\n"))
    });
    let wrong: String = wrong.collect();
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn a_message_in_parts_that_waits_for_an_acknowledgement_stalls() {
    check(
        "\
loopback socket connect/0.1 | header body answer/43 => 10 of 11 lost 428 ms
remote socket connect/0.1 | header body answer/43 => 10 of 11 lost 428 ms
loopback socket connect/0.1 | header body timer/20 poll/23 answer => 10 of 11 lost 428 ms
loopback socket connect/0.1 | long body answer/43 => 10 of 10 lost 428 ms
loopback socket connect/0.1 | header body answer/43 body answer/1 => 10 of 11 lost 428 ms
loopback socket4 accept answer/43 | header body answer/43 => server 10 of 11 lost 428 ms",
    );
    // Other systems acknowledge after 200 ms. A busy machine makes some waits longer. If two answers are awaited at
    // the same time, the lost time is counted once.
    check(
        "\
loopback socket connect/0.1 | header body answer/203 => 10 of 11 lost 2028 ms
loopback socket connect/0.1 | header body answer/43 header body answer/43 header body answer/90 => 30 of 31 lost 1407 ms
loopback socket connect/0.1 socket4 connect4/0.1 header4 body4 answer4/0.1 | header body header4 body4 poll/43 answer answer4 => 20 of 22 lost 427 ms",
    );
}

#[test]
fn what_the_kernel_sends_at_once_is_no_stall() {
    check(
        "\
loopback socket connect/0.1 no-delay | header body answer/43 => -
loopback socket connect/0.1 0x6,0x1 | header body answer/43 => -
loopback socket4 no-delay4 accept | header body answer/43 => -
loopback socket connect/0.1 | cork header body uncork answer/43 => -
loopback socket connect/0.1 | more body answer/43 => -
loopback socket connect/0.1 | list answer/43 => -
loopback socket connect/0.1 | header body shutdown answer/43 => -
remote socket connect/0.1 | header segment answer/43 => -",
    );
    // In each line, something else explains the wait: the first part was acknowledged long before the second part was
    // written; the peer answered sooner or later than a delayed acknowledgement would end; or the program slept,
    // waited for a timer, or did something else.
    check(
        "\
loopback socket connect/0.1 | header brk/50 body answer/43 => -
loopback socket connect/0.1 | header body answer/85 => -
loopback socket connect/0.1 | header body sleep/43 answer => -
loopback socket connect/0.1 | header body sleep/5 answer/38 => -
loopback socket connect/0.1 | header body timer/43 answer => -
loopback socket connect/0.1 | header body poll brk/43 answer => -
remote socket connect/43 | header body answer/43 => -",
    );
}

#[test]
fn stalls_that_are_in_doubt_are_listed() {
    let late = "header body answer/90";
    let quick = "header body answer/1";
    check(&format!(
        "\
loopback socket connect/0.1 | header body answer/43 {late} {late} {late} {late} {late} => 60 of 61: the waits differ more
loopback socket connect/0.1 | header body answer/43 header body answer/30 => 10 of 21: a delayed acknowledgement makes at least half
loopback socket connect/0.1 | header body answer/43 {quick} {quick} {quick} => 10 of 41: a delayed acknowledgement makes at least half
loopback socket connect/0.1 | header body answer/43 body answer/43 => 10 of 11: exchanges of a single write wait as long
loopback socket connect/0.1 slow | header body answer/43 => 10 of 10: no first answer of a connection came sooner
loopback slow | header body answer/43 => 10 of 10: no first answer of a connection was seen
loopback | header body answer/43 => 10 of 11: TCP_NODELAY may have been set
remote socket connect/43 | header body answer/86 => 10 of 11: a round trip to the peer takes about as long"
    ));
}

/// A server works for some time before each answer.
#[test]
fn what_the_peer_takes_itself_is_no_part_of_a_stall() {
    // A busy machine can delay the first answer or the connection. So the time that the peer takes itself is at most
    // what the shorter waits leave.
    check(
        "\
loopback socket connect/0.1 slow header body answer/5 | header body answer/44 => 10 of 11 lost 399 ms
loopback socket connect/0.1 slow header body answer/28 | header body answer/44 => 10 of 11 lost 399 ms
loopback socket connect/8 slow header body answer/1 | header body answer/44 => 10 of 11 lost 429 ms",
    );
    // A pause of the program between its calls makes the waits shorter. If the first answer is as late as the others,
    // the stall is not certain.
    check(
        "\
loopback socket connect/0.1 slow header body answer/1 | header brk/15 body answer/28 => 10 of 11 lost 269 ms
loopback socket connect/0.1 slow header body answer/73 | header body answer/73 => 11 of 11: no first answer of a connection came sooner",
    );
}

#[test]
fn a_message_that_comes_in_parts_waits_for_the_acknowledgement_of_this_end() {
    let at_once = "socket connect/0.1 slow request whole/0.1";
    check(&format!(
        "\
loopback {at_once} | request head/0.1 rest/43 => peer 9 of 9 lost 387 ms
loopback socket connect/0.1 slow request head/0.1 rest/0 | request head/0.1 rest/43 => peer 9 of 10 lost 387 ms
loopback {at_once} | request head/30 rest/43 => peer 9 of 9 lost 387 ms
loopback {at_once} | request head poll/43 rest => peer 9 of 9 lost 387 ms
unix {at_once} | request head/0.1 rest/43 => -
loopback socket connect/0.1 slow request head/0.1 rest/40 | request head/0.1 rest/43 => peer 9 of 10: no first answer of a connection came sooner
loopback slow | request head/0.1 rest/43 => peer 9 of 9: no first answer of a connection came sooner
loopback {at_once} | request head rest/43 rest/43 => -
loopback {at_once} | request head sleep/43 rest => -
loopback {at_once} | request head brk/43 rest => -"
    ));
}

/// In another thread, the second end reads the message in two parts, and waits before the second part.
#[test]
fn of_two_ends_in_the_log_one_has_the_finding() {
    let [own, peer] = ["header body answer/43", "request head/0.1 rest/43"]
        .map(|calls| log(&format!("loopback socket connect/0.1 | {calls}")));
    let peer = peer.replace("\n1 ", "\n2 ");
    let [one, other] = ["127.0.0.1:40000", "127.0.0.1:80"];
    let peer = peer.replace(&format!("{one}->{other}"), &format!("{other}->{one}"));
    let found = stalls(&(own + &peer));
    assert_eq!(found, "10 of 12 lost 428 ms");
}
