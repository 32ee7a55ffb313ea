//! Events as text, for comparison.

use std::fmt::Write as _;
use std::io::Read;
use std::path::PathBuf;

use vectored_strace::event::{Action, Transfer};
use vectored_strace::{Counts, Event, Reader, read_logs};

pub(crate) fn events_of<R: Read>(reader: &mut Reader<R>) -> (Vec<String>, Counts) {
    let mut events = Vec::new();
    while let Some(event) = reader.next().unwrap() {
        events.push(text_of_event(&event));
    }
    (events, reader.counts())
}

pub(crate) fn text_of_logs(paths: &[PathBuf]) -> String {
    let mut text = String::new();
    let counts = read_logs(paths, |event| {
        let event = event.map_or("begin".to_owned(), |event| text_of_event(&event));
        writeln!(text, "{event}").unwrap();
    })
    .unwrap();
    writeln!(text, "{} lines, {} calls", counts.lines, counts.calls).unwrap();
    text += if counts.truncated { "truncated\n" } else { "" };
    for skipped in counts.skipped() {
        writeln!(
            text,
            "{} × {}, first {}",
            skipped.lines, skipped.reason, skipped.first_line
        )
        .unwrap();
    }
    text
}

/// `thread name = action @began took, by site`.
fn text_of_event(event: &Event) -> String {
    let began = event.began_ns.map_or("-".to_owned(), |ns| ns.to_string());
    let name = lossy(event.name);
    let action = text_of_action(&event.action);
    let mut text = format!(
        "{} {name} = {action} @{began} {:?}",
        event.thread, event.took_ns
    );
    if let Some(site) = event.site {
        write!(text, ", by {}", lossy(site)).unwrap();
    }
    text
}

fn text_of_action(action: &Action) -> String {
    match action {
        Action::Transfer(transfer) => text_of_transfer(transfer),
        other => with_text(&format!("{other:?}")),
    }
}

/// Lists of bytes as text: `[47, 116]` as `"/t"`. Only transfers have other lists, of numbers that are no bytes.
fn with_text(debug: &str) -> String {
    let mut text = String::new();
    let mut rest = debug;
    while let Some((before, after)) = rest.split_once(']') {
        let (prefix, list) = before.rsplit_once('[').unwrap_or((before, "no list"));
        let bytes = list.split(", ").filter(|byte| !byte.is_empty());
        let bytes: Result<Vec<u8>, _> = bytes.map(str::parse).collect();
        text += &match bytes {
            Ok(bytes) => format!("{prefix}{:?}", lossy(&bytes)),
            Err(_) => format!("{before}]"),
        };
        rest = after;
    }
    text + rest
}

fn text_of_transfer(transfer: &Transfer) -> String {
    let with_text = |value: &dyn std::fmt::Debug| with_text(&format!("{value:?}"));
    let Transfer {
        direction,
        form,
        asked_bytes,
        offset,
        ..
    } = transfer;
    let mut text = format!(
        "{direction:?} {form:?} {} {:?}, asked {asked_bytes:?}, {}, at {offset:?}",
        with_text(&transfer.descriptor),
        transfer.segment_bytes,
        with_text(&transfer.result)
    );
    if let Some(from) = &transfer.from {
        text += &format!(" from {}", with_text(from));
    }
    for (set, word) in [
        (transfer.special, " special"),
        (transfer.more, " more"),
        (transfer.sync, " sync"),
        (transfer.addressed, " addressed"),
    ] {
        if set {
            text += word;
        }
    }
    text
}

pub(crate) fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
