//! Titles of sections and notes on targets.

use crate::model::{
    AXES, Axis, Cell, Conditions, DirectIo, Results, SyncMode, Target, TechniqueName,
};
use crate::text::format::{bytes_in_words, escape_control, grouped};

/// The conditions of these cells, each once: the sections of a report, in their order.
pub(crate) fn sections<'a>(cells: impl IntoIterator<Item = &'a Cell>) -> Vec<&'a Conditions> {
    let mut all: Vec<&Conditions> = cells.into_iter().map(|cell| &cell.conditions).collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// Titles of sections. What goes without saying is named if sections differ in it.
pub(crate) struct Titles {
    varying: Vec<&'static str>,
}

impl Titles {
    pub fn among<'a>(cells: impl IntoIterator<Item = &'a Cell>) -> Self {
        let all = sections(cells);
        let varies = |axis: &&Axis| {
            let words = |conditions: &&Conditions| (axis.words)(conditions, true);
            all.windows(2)
                .any(|pair| words(&pair[0]) != words(&pair[1]))
        };
        Titles {
            varying: AXES.iter().filter(varies).map(|axis| axis.name).collect(),
        }
    }

    /// `file`, `file read hot`, `file-overwrite fsync`, `fifo /tmp/x`,
    /// `pipe, cache cold, layout adjacent`.
    pub fn of(&self, conditions: &Conditions) -> String {
        escape_control(&conditions.title(|axis| self.varying.contains(&axis.name)))
    }
}

/// `pipe`, `file read hot`; conditions other than the default are named.
pub fn conditions_in_words(conditions: &Conditions) -> String {
    escape_control(&conditions.title(|_| false))
}

/// A target, with its path if it was given by path.
pub(crate) fn place(target: Target, path: Option<&str>) -> String {
    match path {
        None => target.to_string(),
        Some(path) => format!("{target} {}", escape_control(path)),
    }
}

/// Whether the gather tax is meaningful for the target of `cell`: `/dev/null` reads no byte, so its floor
/// does not grow with the list.
pub(crate) fn has_tax(cell: &Cell) -> bool {
    cell.conditions.target != Target::Null
}

/// Notes on the targets of these results.
pub(crate) fn notes(results: &Results) -> Vec<String> {
    let any = |is: &dyn Fn(&Cell) -> bool| results.cells.iter().any(is);
    let mut notes = Vec::new();
    let overwritten = |direct| {
        any(&|cell| {
            cell.conditions.target == Target::FileOverwrite && cell.conditions.direct == direct
        })
    };
    if overwritten(false) {
        notes.push(
            "file-overwrite: an existing file in the page cache is rewritten in place.".to_owned(),
        );
    } else if overwritten(true) {
        notes.push("file-overwrite: an existing file is rewritten in place.".to_owned());
    }
    for (target, words) in [
        (
            Target::Socket,
            "socket: another program reads, at its own pace, so the bytes are not verified.",
        ),
        (
            Target::Remote,
            "remote: a TCP connection with TCP_NODELAY and buffers that grow as usual. Another program reads, at its \
             own pace, so the bytes are not verified.",
        ),
        (
            Target::Device,
            "device: the bytes cannot be read back, so they are not verified.",
        ),
        (
            Target::Null,
            "null: /dev/null reads no byte. Its figures are fixed costs, shown as times per call instead of \
             gather taxes, and the bytes are not verified.",
        ),
    ] {
        if any(&|cell| cell.conditions.target == target) {
            notes.push(words.to_owned());
        }
    }
    let host = &results.host;
    let buffers = (host.tcp_send_buffer_bytes).zip(host.tcp_receive_buffer_bytes);
    if let Some((send, receive)) = buffers
        && any(&|cell| cell.conditions.target == Target::Tcp)
    {
        notes.push(format!(
            "tcp: over the loopback device, with TCP_NODELAY, a send buffer of {} and a receive \
             buffer of {} that do not grow.",
            bytes_in_words(send),
            bytes_in_words(receive)
        ));
    }
    for (target, place) in [
        (Target::Tcp, "tcp (the loopback device always copies)"),
        (Target::Remote, "remote"),
    ] {
        let cells = results
            .cells
            .iter()
            .filter(|cell| cell.conditions.target == target);
        let counts = cells.filter_map(|cell| {
            cell.technique(TechniqueName::new("send-zerocopy"))?
                .zerocopy
        });
        let (mut sends, mut copied) = (0, 0);
        for counts in counts {
            sends += counts.sends;
            copied += counts.copied;
        }
        if sends > 0 {
            notes.push(zerocopy_note(place, sends, copied));
        }
    }
    for (sync, words) in [
        (
            SyncMode::Dsync,
            "dsync: each write returns when its data are on the device (O_DSYNC).",
        ),
        (
            SyncMode::Sync,
            "sync: each write returns when its data and all metadata are on the device (O_SYNC).",
        ),
        (
            SyncMode::Fsync,
            "fsync: the time of each call, the floor's too, includes one fsync(2) after it.",
        ),
    ] {
        if any(&|cell| cell.conditions.sync == sync) {
            notes.push(words.to_owned());
        }
    }
    let mut alignments: Vec<DirectIo> = results
        .cells
        .iter()
        .filter_map(|cell| cell.alignment)
        .collect();
    alignments.sort_unstable();
    alignments.dedup();
    for direct in alignments {
        notes.push(format!(
            "O_DIRECT: transfers go between the segments and the device, past the page cache. Here offsets and sizes \
             are multiples of {} B, and segments begin at multiples of {} B. adaptive decides by the default costs of \
             files in the page cache.",
            direct.offset_bytes, direct.memory_bytes
        ));
    }
    notes
}

/// Whether a technique that sends without a copy did so.
fn zerocopy_note(place: &str, sends: u64, copied: u64) -> String {
    let all = grouped(sends);
    let outcome = match copied {
        0 => format!("the kernel copied the bytes of none of {all} sends"),
        copied if copied == sends => format!(
            "the kernel copied the bytes of all {all} sends after all, so its figures are those of a copy with \
             notifications"
        ),
        copied => format!(
            "the kernel copied the bytes of {} of {all} sends after all",
            grouped(copied)
        ),
    };
    format!(
        "send-zerocopy on {place}: {outcome}. Notifications are taken in each call; those that are missing after the \
         last one are waited for outside of the timed region."
    )
}
