//! The legend of a run: notes on figures, verdicts, conditions, noise and omissions.

use serde_json::Value;
use vectored_report::sort::distinct;
use vectored_report::words::{bytes as bytes_in_words, count, percent};
use vectored_report::{each_once, value_of, with_field};

use crate::model::{Cell, DirectIo, OpenBecause, Operation, Results, Target, TechniqueName};
use crate::report::left_out::left_out_in_words;
use crate::report::measured::columns;
use crate::report::target_names::has_tax;
use crate::report::words::{refused_in_words, unsuited_in_words};
use crate::stats::{MIN_ROUNDS, median};

pub(crate) fn notes(results: &Results) -> Vec<String> {
    let (floor, example) = match operation(results) {
        Operation::Write => (
            "one write of the same bytes, already in one piece",
            "writev",
        ),
        Operation::Read => ("one read of the same bytes into one piece", "readv"),
        Operation::Copy => (
            "a copy by read and write with one buffer, as by read-write",
            "splice",
        ),
    };
    let figures = if results.cells.iter().any(has_tax) || results.cells.is_empty() {
        "The other figures are time ÷ floor: 1.02× is 2 % longer than the floor."
    } else {
        "The other figures are times per call."
    };
    let mut notes = vec![format!("floor: {floor}. {figures}")];
    if results.rivals.len() > 1 {
        notes.push(format!(
            "*: the winner, significantly faster than every rival. =: a tie, within ±2 % of the leader. \"{example} by \
             1.09× [1.07, 1.11]\": {example} wins, and the nearest rival takes 1.09 times as long; in brackets the 95 % \
             interval, not adjusted for the number of cells (verdicts are). \"open (budget): {example} by 1.09× [0.98, \
             1.20]\": {example} leads, but the difference is not significant."
        ));
    }
    notes.extend(why_open(results));
    let is_mixed = results.cells.iter().any(|cell| cell.swept_mix.is_some());
    notes.extend(said(&[
        (!results.refined_cells.is_empty(), REFINED),
        (is_mixed, MIXED),
        (!results.crossovers.is_empty(), CROSSOVER),
    ]));
    notes.extend(conditions(&results.cells));
    notes.extend(tcp_buffers(results));
    if operation(results) == Operation::Copy {
        let measured = columns(results);
        let is_of = |line: &&str| {
            let mut measured = measured.iter();
            measured.any(|technique| line.split(":").next() == Some(technique.as_str()))
        };
        notes.extend(PROMISES.lines().filter(is_of).map(str::to_owned));
    }
    notes.extend(alignments(results));
    let unranked: Vec<&str> = columns(results)
        .into_iter()
        .filter(|technique| !results.rivals.contains(technique))
        .map(TechniqueName::as_str)
        .collect();
    if !unranked.is_empty() {
        let (are, they_are, take) = match unranked.len() {
            1 => ("is", "it is", "takes"),
            _ => ("are", "they are", "take"),
        };
        notes.push(format!(
            "{} {are} unranked: {they_are} shown for comparison and {take} no part in the verdict.",
            unranked.join(" and ")
        ));
    }
    let conditions = results.cells.iter().map(|cell| &cell.conditions);
    let deep = conditions.filter(|conditions| conditions.queue_depth > 1);
    let operations = each_once(deep.map(|conditions| conditions.operation));
    let has_ranks = !results.ranks.is_empty();
    if !operations.is_empty() {
        let is_read = operations.contains(&Operation::Read);
        notes.push(QUEUE_DEPTH.to_owned() + if is_read { READS_IN_FLIGHT } else { "" });
    }
    notes.extend(said(&[
        (has_ranks, RANKS),
        (has_ranks, STRAGGLERS),
        (has_ranks, MPI),
    ]));
    notes.extend(noise(results));
    let refused = refused_in_words(results);
    let unsuited = unsuited_in_words(results).into_iter();
    notes.extend(unsuited.chain(refused).map(|sentence| sentence + "."));
    let left_out = left_out_in_words(&results.left_out).into_iter();
    notes.extend(left_out.map(|(reason, cells)| format!("Not measured ({reason}): {cells}.")));
    notes.push(format!("Seed {}.", results.seed));
    notes
}

fn said(notes: &[(bool, &str)]) -> Vec<String> {
    let notes = notes.iter().filter(|(is_said, _)| *is_said);
    notes.map(|(_, note)| (*note).to_owned()).collect()
}

const REFINED: &str = "\
+: an extra cell, measured to place a crossover or to fit a cost model. It is not counted among wins, ties and open cells.";

const MIXED: &str =
    "SIZE: the size of a mix that was varied; the other sizes of the mix were fixed.";

const CROSSOVER: &str = "\
\"below 1.40 KiB [1.31, 1.52]\": for sizes smaller than the crossover at 1.40 KiB; in brackets its interval.";

const QUEUE_DEPTH: &str = "\
queue depth: the transfers that asynchronous techniques keep in flight. The floor and the synchronous techniques have one at a \
time.";

const READS_IN_FLIGHT: &str = " \
Asynchronous reads fill as many lists of buffers as are in flight. A synchronous read fills one list again and again, which stays \
in the CPU caches if it fits.";

const RANKS: &str = "\
Ranks start each sample together, after a barrier, each on a target of its own. The times above, the floor's too, are those of the \
slowest rank, from its own start to its own end: a program whose ranks wait for each other waits for that one.";

const STRAGGLERS: &str = "\
Several ranks: the times are the medians of the fastest and of the slowest rank. Calls per second are those of all ranks together, \
at the pace of the slowest. A straggler is a rank whose median is more than 1.5 times that of the median rank. \"Last in\" is the \
share of its samples in which a rank ended last.";

const MPI: &str = "\
Ranks call MPI, which starts threads, and each system call of a process with several threads takes longer: on one machine short \
calls took 9 to 19 % more. The times are those of an MPI program, and give no cost model.";

pub(super) fn operation(results: &Results) -> Operation {
    let cells = results.cells.iter();
    let mut all = cells.map(|cell| cell.conditions.operation);
    let first = all.next().unwrap_or_default();
    if all.all(|other| other == first) { first } else { Operation::Write }
}

const PROMISES: &str = "\
read-write: what arrives is what the source held when it was read, whatever is written to it later. Holes arrive as zeros, which \
    take space.
splice: from a file to a pipe or socket it hands over pages of the page cache: bytes that are written to the file before they \
    are read at the other end change what arrives. Holes arrive as zeros. It refuses a target with O_APPEND.
copy-file-range: the file system may share the blocks of both files (a reflink) instead of copying them, so that a later write \
    may find no space; it may fill holes. It says that a file of /proc or /sys is empty, and refuses O_APPEND and, before Linux \
    5.3 and from 5.19 on, most pairs of file systems.
sendfile: to a pipe or socket it hands over pages of the page cache, as splice does, so that a change of the file changes what \
    arrives. Holes arrive as zeros. It refuses a target with O_APPEND.
mmap-write: what arrives is what the source held when it was written. A source that shrinks meanwhile is an error (EFAULT). Holes \
    arrive as zeros.
adaptive: vectored::copy, which chooses among these for each pair, and hands over no page that the source can change later.";

/// The notes on conditions, each after the values that some cell has to have.
const CONDITIONS: &str = "\
page_cache=hot => hot: the file was in the page cache.
page_cache=cold => cold: the file was evicted from the page cache before each call, and each call was verified to read from the \
    device.
cache=cold => cache cold: the bytes of each call, the floor's too, come from memory: from a pool larger than the CPU's caches.
layout=adjacent => layout adjacent: the segments lie one directly after another in memory.
iovec_setup=once => iovec-setup once: the iovec array is filled once, before the timed calls.
operation=copy drain=reader-thread => r: a thread on another CPU read from the target during the timed copies.
operation=copy drain=writer-thread => w: a thread on another CPU wrote to the source during the timed copies.
operation=write drain=reader-thread => r: a thread on another CPU read during the timed calls: the list does not fit into the \
    target, or is longer than 28 KiB and goes into a pipe.
operation=read drain=writer-thread => w: the list does not fit into the target, so a thread on another CPU wrote during the timed \
    call.
drain=both-threads => rw: threads on another CPU wrote to the source and read from the target during the timed copies.
target=file-overwrite direct=false => file-overwrite: an existing file in the page cache is rewritten in place.
target=file-overwrite direct=true => file-overwrite with O_DIRECT: an existing file is rewritten in place.
target=socket => socket: another program reads, at its own pace, so the bytes are not verified.
target=remote => remote: a TCP connection with TCP_NODELAY and buffers that grow as usual. Another program reads, at its own pace, \
    so the bytes are not verified.
target=null operation=copy => null: what is copied to /dev/null cannot be read back, so it is not verified. A technique that hands \
    over pages does not touch their bytes.
target=null operation=write => null: /dev/null reads no byte. Its figures are fixed costs, shown as times per call instead of \
    gather taxes, and the bytes are not verified.
sync=dsync => dsync: each write returns when its data are on the device (O_DSYNC).
sync=sync => sync: each write returns when its data and all metadata are on the device (O_SYNC).
sync=fsync => fsync: the time of each call, the floor's too, includes one fsync(2) after it.";

fn conditions(cells: &[Cell]) -> impl Iterator<Item = String> {
    let values = |cell: &Cell| {
        let drain = value_of(&cell.drain).expect("plain data");
        with_field("drain", drain, &cell.conditions)
    };
    let mut all: Vec<Value> = cells.iter().map(values).collect();
    all.dedup();
    let has = |cell: &Value, words: &str| {
        let (field, value) = words.split_once('=').expect("a field and its value");
        cell[field].to_string().trim_matches('"') == value
    };
    CONDITIONS.lines().filter_map(move |line| {
        let (values, note) = line.split_once(" => ").expect("values and a note");
        let is_met = |cell: &Value| values.split(' ').all(|words| has(cell, words));
        all.iter().any(is_met).then(|| note.to_owned())
    })
}

fn tcp_buffers(results: &Results) -> Option<String> {
    let mut targets = results.cells.iter().map(|cell| cell.conditions.target);
    targets.find(|target| *target == Target::Tcp)?;
    let host = &results.host;
    Some(format!(
        "tcp: over the loopback device, with TCP_NODELAY, a send buffer of {} and a receive buffer of {} that do not \
         grow.",
        bytes_in_words(host.tcp_send_buffer_bytes?),
        bytes_in_words(host.tcp_receive_buffer_bytes?)
    ))
}

fn alignments(results: &Results) -> Vec<String> {
    let all = results.cells.iter().filter_map(|cell| cell.alignment);
    let note = |direct: DirectIo| {
        format!(
            "O_DIRECT: transfers go between the segments and the device, past the page cache. Here offsets and sizes \
             are multiples of {} B, and segments begin at multiples of {} B. adaptive decides by the default costs of \
             files in the page cache.",
            direct.offset_bytes, direct.memory_bytes
        )
    };
    distinct(all).into_iter().map(note).collect()
}

fn why_open(results: &Results) -> Option<String> {
    let cells = || results.cells.iter().chain(&results.refined_cells);
    let occurs = |why: &OpenBecause| cells().any(|cell| cell.open_because == Some(*why));
    let meaning = |why: OpenBecause| {
        let meaning = match why {
            OpenBecause::Rounds => format!(
                "fewer than {MIN_ROUNDS} rounds; or the interval excludes 0, but the difference is not \
                 significant after adjustment for {} (false discoveries) and repeated looks. More rounds can \
                 decide it",
                count(cells().count(), "cell")
            ),
            OpenBecause::Noise => {
                "more rounds cannot decide it, since the two floors of the cell differ by more than the \
                 techniques, or its intervals cannot get narrower"
                    .to_owned()
            }
            OpenBecause::Budget => "the budget ended before the intervals were narrow".to_owned(),
        };
        format!("\"{}\": {meaning}", why.name())
    };
    let occurring = OpenBecause::ALL.into_iter().filter(occurs).map(meaning);
    let occurring = occurring.collect::<Vec<_>>().join(". ");
    (!occurring.is_empty()).then(|| format!("Why a cell is open. {occurring}."))
}

fn noise(results: &Results) -> Option<String> {
    let floors: Vec<f64> = results.cells.iter().filter_map(|c| c.noise_floor).collect();
    let typical = percent(median(&floors)?);
    let significant = results.cells.iter().filter(|c| c.aa_separated).count();
    Some(format!(
        "Noise floor (the floor measured twice, A/A test): {typical} in the median cell; the two differ \
         significantly in {significant} of {}. Such a cell reports no difference below its own noise floor.",
        count(floors.len(), "cell"),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{AXES, Conditions, Drain, STRAGGLER};

    #[test]
    fn each_note_on_conditions_names_fields_and_occurs() {
        let mut cell = Cell {
            conditions: Conditions::copy(Target::File, Target::Null),
            drain: Some(Drain::BothThreads),
            ..Cell::default()
        };
        let fields = CONDITIONS
            .lines()
            .flat_map(|line| line.split(" => ").next());
        for words in fields.flat_map(|words| words.split(' ')) {
            let field = words.split('=').next().unwrap_or_default();
            let is_axis = AXES.iter().any(|axis| axis.name == field);
            assert!(is_axis || ["drain", "target"].contains(&field), "{field}");
        }
        assert!(STRAGGLERS.contains(&format!("more than {STRAGGLER} times")));
        let begins = |cell: &Cell| {
            let notes = conditions(std::slice::from_ref(cell));
            notes
                .map(|note| note.split(':').next().unwrap_or_default().to_owned())
                .collect::<Vec<_>>()
        };
        assert_eq!(begins(&cell), ["hot", "rw", "null"]);
        cell.conditions = Conditions::write(Target::FileOverwrite);
        (cell.conditions.direct, cell.drain) = (true, None);
        assert_eq!(begins(&cell), ["file-overwrite with O_DIRECT"]);
    }

    #[test]
    fn the_note_on_transfers_in_flight_says_more_of_reads() {
        for (operation, is_said) in [(Operation::Write, false), (Operation::Read, true)] {
            let conditions = Conditions {
                operation,
                queue_depth: 8,
                ..Conditions::default()
            };
            let cell = Cell {
                conditions,
                ..Cell::default()
            };
            let notes = notes(&Results {
                cells: vec![cell],
                ..Results::default()
            });
            let mut notes = notes.iter().filter(|note| note.starts_with(QUEUE_DEPTH));
            let note = notes.next().unwrap();
            assert_eq!(note.ends_with(READS_IN_FLIGHT), is_said, "{note}");
        }
    }
}
