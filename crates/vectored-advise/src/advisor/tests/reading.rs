//! Reading a log at once gives the same result as following each of its events.

use std::fmt::Write;
use std::path::PathBuf;

use proptest::prelude::*;

use crate::advisor::findings::tallies::Tallies;
use crate::advisor::{Analysis, Options};
use vectored_strace::Reader;

/// The part of a line after its time.
const CALLS: &str = concat!(
    r#"(write|read)\((3</srv/a>|4</srv/b>|5<pipe:\[7\]>|6), "x"\.\.\., (8|4096|70000)\) = (8|4096|70000|0|-1 EAGAIN \(x\))"#,
    r#"|p(write|read)64\((3</srv/a>|4</srv/b>), "x"\.\.\., 8, (8|16|24|32)\) = 8"#,
    r#"|lseek\(3</srv/a>, 8, SEEK_SET\) = (8|12345678901)"#,
    r#"|openat\(AT_FDCWD</>, "/srv/a", O_WRONLY(\|O_APPEND|\|O_SYNC|)\) = [34]</srv/a>"#,
    r#"|fstat\(3</srv/a>, \{st_mode=(S_IFREG|S_IFIFO)\|0644\}\) = 0"#,
    r#"|close\([345]\) = 0"#,
    r#"|dup2\(3</srv/a>, 4</srv/b>\) = 4</srv/a>"#,
    r#"|futex\(0x7f7b10116990, FUTEX_WAKE_PRIVATE, 1\) = 1"#,
    r#"|\+\+\+ exited with 0 \+\+\+"#,
);

/// Calls, each of them some times, so that there are runs.
fn log() -> impl Strategy<Value = String> {
    let calls = (
        CALLS,
        prop_oneof![Just(9658), Just(9659)],
        1..9,
        1..9000_u64,
    );
    proptest::collection::vec(calls, 1..60).prop_map(|calls| {
        let mut log = String::new();
        let mut now_us = 0;
        for (call, thread, times, step_us) in calls {
            let took = if call.starts_with('+') { "" } else { " <0.000005>" };
            for _ in 0..times {
                now_us += step_us;
                writeln!(
                    log,
                    "{thread}  1795312736.{:06} {call}{took}",
                    now_us % 1_000_000
                )
                .unwrap();
            }
        }
        log
    })
}

fn event_by_event(log: &str) -> Tallies {
    let mut analysis = Analysis::new(Options::default());
    let mut reader = Reader::new(log.as_bytes());
    analysis.begin_log();
    while let Some(event) = reader.next().unwrap() {
        analysis.follow(&event);
    }
    analysis.finish()
}

fn at_once(log: &str) -> Tallies {
    let path = std::env::temp_dir().join(format!("vectored-at-once-{}", std::process::id()));
    std::fs::write(&path, log).unwrap();
    let mut analysis = Analysis::new(Options::default());
    let read = analysis.read_logs(&[PathBuf::from(&path)]);
    std::fs::remove_file(&path).unwrap();
    read.unwrap();
    analysis.finish()
}

proptest! {
    #[test]
    fn a_log_is_followed_as_each_of_its_events(log in log()) {
        prop_assert_eq!(at_once(&log), event_by_event(&log));
    }
}
