//! The JSON of extracts: a line for each cell, so that a person can read it and a version control shows what changed.

use std::io;

use serde::Serialize;
use serde_json::Serializer;
use serde_json::ser::{CompactFormatter, Formatter};

use crate::model::{
    MACHINE_SCHEMA, MAX_QUEUE_DEPTH, MAX_RANKS, MAX_WRITERS, Machine, MachineCell, MachineGroup,
    SCHEMA, SharedCosts, Verdict,
};
use crate::report::fleet::extract::{Extract, extract};
use crate::report::json::{ParseError, parse, parse_of_schema, schema_of};

/// The value of `schema` of [`fleet_json`].
const MACHINES_SCHEMA: &str = "vectored-machines/1";

/// Levels of the JSON that have a line for each value: the machine, its list of groups, a group, and its lists.
const LEVELS: usize = 4;

/// Limit on segments in a list and bytes in a segment, which no run exceeds.
const MAX_COUNT: usize = 1 << if usize::BITS > 40 { 40 } else { 30 };

/// The longest text of an extract.
const MAX_TEXT: usize = 100;

/// An extract as JSON, complete.
pub fn machine_json(machine: &Machine) -> String {
    let mut bytes = Vec::new();
    let mut serializer = Serializer::with_formatter(&mut bytes, Lines::default());
    // Serializing fails only for maps whose keys are no text, and for failing writers.
    machine.serialize(&mut serializer).expect("plain data");
    bytes.push(b'\n');
    String::from_utf8(bytes).expect("JSON is text")
}

/// Several extracts as one JSON: `schema` is `vectored-machines/1`, and `machines` are the extracts.
pub fn fleet_json(machines: &[Machine]) -> String {
    #[derive(Serialize)]
    struct Machines<'a> {
        schema: &'static str,
        machines: &'a [Machine],
    }
    let all = Machines {
        schema: MACHINES_SCHEMA,
        machines,
    };
    let mut text = serde_json::to_string(&all).expect("plain data");
    text.push('\n');
    text
}

/// Reads what [`machine_json`] wrote. Unknown fields are ignored: later versions may add some.
///
/// # Errors
///
/// If the text is not JSON, not an extract, of another schema, or not consistent.
///
/// # Examples
///
/// ```
/// use vectored_lab::report::fleet::parse_machine;
///
/// let refused = parse_machine(r#"{"schema": "vectored-machine/9"}"#).unwrap_err();
/// assert!(refused.to_string().contains("unknown schema"));
/// ```
pub fn parse_machine(text: &str) -> Result<Machine, ParseError> {
    parse_of_schema(text, MACHINE_SCHEMA, check)
}

/// Reads an extract, or makes one of a result of `vectored measure`. An extract that was read lacks nothing that is known.
///
/// # Errors
///
/// As [`parse_machine`], and for a result of another command.
pub fn parse_machine_or_result(text: &str) -> Result<Extract, ParseError> {
    match schema_of(text)?.as_str() {
        SCHEMA => Ok(extract(&parse(text)?)),
        _ => Ok(Extract {
            machine: parse_machine(text)?,
            left_out_cells: 0,
            mixed_cells: 0,
        }),
    }
}

/// Whether a text is JSON with the schema of an extract.
pub fn is_extract(text: &str) -> bool {
    schema_of(text).is_ok_and(|schema| schema == MACHINE_SCHEMA)
}

/// Describes the first violation.
fn check(machine: &Machine) -> Result<(), String> {
    let kind = &machine.kind;
    let file_systems = machine
        .groups
        .iter()
        .filter_map(|group| group.file_system.as_ref());
    let texts = [
        &machine.vectored_version,
        &machine.month,
        &kind.processor,
        &kind.architecture,
        &kind.system,
        &kind.kernel,
    ];
    for text in texts.into_iter().chain(file_systems) {
        if text.is_empty() || text.len() > MAX_TEXT || !text.chars().all(is_printable) {
            return Err(format!("{text:?} is no name of a type"));
        }
    }
    if kind.cpus == 0 {
        return Err("the machine has no CPU".to_owned());
    }
    for group in &machine.groups {
        self::group(group)
            .map_err(|why| format!("a group of {} {why}", group.conditions.target))?;
    }
    Ok(())
}

fn is_printable(c: char) -> bool {
    c.is_ascii_graphic() || c == ' '
}

fn group(group: &MachineGroup) -> Result<(), String> {
    let conditions = &group.conditions;
    let counts = [
        ("queue depth", Some(conditions.queue_depth), MAX_QUEUE_DEPTH),
        (
            "number of writers",
            conditions.writers.map(|writers| writers.count),
            MAX_WRITERS,
        ),
        ("number of ranks", conditions.ranks, MAX_RANKS),
    ];
    for (what, count, most) in counts {
        if let Some(count) = count.filter(|count| !(1..=most).contains(count)) {
            return Err(format!(
                "has a {what} of {count}, which is not from 1 to {most}"
            ));
        }
    }
    for cell in &group.cells {
        self::cell(cell)?;
    }
    for crossover in &group.crossovers {
        let sizes = [
            crossover.low_bytes,
            crossover.at_bytes,
            crossover.high_bytes,
        ];
        if !sizes.iter().all(|&bytes| is_positive(bytes)) {
            return Err("has a crossover whose size is not a positive number".to_owned());
        }
        if !sizes.is_sorted() {
            return Err("has a crossover whose size is outside of its interval".to_owned());
        }
        if crossover.segment_count == 0 || crossover.segment_count > MAX_COUNT {
            return Err(format!(
                "has a crossover of {} segments",
                crossover.segment_count
            ));
        }
        if crossover.below == crossover.above {
            return Err(format!(
                "has a crossover from {} to itself",
                crossover.below
            ));
        }
    }
    for costs in &group.cost_models {
        let regret = costs.regret_median.unwrap_or(0.0);
        let mut all = numbers(costs).into_iter().chain([regret]);
        if !all.all(|number| number.is_finite() && number >= 0.0) {
            return Err("has a cost that is negative or not a number".to_owned());
        }
        if costs.staging_bytes == 0 || costs.staging_bytes > MAX_COUNT {
            return Err(format!(
                "has a staging size of {} bytes",
                costs.staging_bytes
            ));
        }
    }
    Ok(())
}

fn cell(cell: &MachineCell) -> Result<(), String> {
    let runs = cell.segment_sizes.as_deref().unwrap_or_default();
    let uniform = cell.segment_bytes.map(|bytes| (cell.segment_count, bytes));
    for (count, bytes) in runs.iter().copied().chain(uniform) {
        if count == 0 || bytes == 0 || count > MAX_COUNT || bytes > MAX_COUNT {
            return Err(format!("has {count} segments of {bytes} bytes"));
        }
    }
    if cell.segment_bytes.is_some() == cell.segment_sizes.is_some() {
        return Err("has a cell with no list, or with two".to_owned());
    }
    if let Some(mix) = &cell.swept_mix
        && cell.swept_bytes().is_none()
    {
        return Err(format!(
            "has a list that is none of its swept mix {:?}",
            mix.runs()
        ));
    }
    let ratios = cell.floor_ratios.values().chain(&cell.margin).flatten();
    if !is_positive(cell.floor_ns) || !ratios.copied().all(is_positive) {
        return Err("has a time or ratio that is not a positive number".to_owned());
    }
    let is_interval = |[ratio, low, high]: &[f64; 3]| [low, ratio, high].is_sorted();
    let mut intervals = cell.floor_ratios.values().chain(&cell.margin);
    if !intervals.all(is_interval) {
        return Err("has a ratio that is outside of its interval".to_owned());
    }
    let noise = cell.noise_floor.unwrap_or(0.0);
    if !noise.is_finite() || noise < 0.0 {
        return Err("has a noise floor that is negative or not a number".to_owned());
    }
    if cell.rounds == 0 {
        return Err("has a cell without a round".to_owned());
    }
    if (cell.verdict == Verdict::Faster) != cell.winner.is_some() {
        return Err("has a winner without the verdict, or the verdict without one".to_owned());
    }
    Ok(())
}

fn numbers(costs: &SharedCosts) -> [f64; 10] {
    [
        costs.call_ns,
        costs.gather_call_ns,
        costs.segment_ns,
        costs.large_segment_ns,
        costs.iovec_step_ns,
        costs.page_end_ns,
        costs.byte_ns,
        costs.copy_segment_ns,
        costs.copy_byte_ns,
        costs.copy_byte_uncached_ns,
    ]
}

fn is_positive(value: f64) -> bool {
    value.is_finite() && value > 0.0
}

/// A line for each value of the first [`LEVELS`] levels.
#[derive(Default)]
struct Lines {
    level: usize,
    /// Whether the innermost array or object has a value.
    has_value: bool,
}

impl Lines {
    fn begin<W: ?Sized + io::Write>(&mut self, writer: &mut W, bracket: &[u8]) -> io::Result<()> {
        self.level += 1;
        self.has_value = false;
        writer.write_all(bracket)
    }

    fn end<W: ?Sized + io::Write>(&mut self, writer: &mut W, bracket: &[u8]) -> io::Result<()> {
        self.level -= 1;
        if self.has_value && self.level < LEVELS {
            indent(writer, self.level)?;
        }
        self.has_value = true;
        writer.write_all(bracket)
    }

    fn next<W: ?Sized + io::Write>(&mut self, writer: &mut W, is_first: bool) -> io::Result<()> {
        if !is_first {
            writer.write_all(b",")?;
        }
        match self.level <= LEVELS {
            true => indent(writer, self.level),
            false if is_first => Ok(()),
            false => writer.write_all(b" "),
        }
    }
}

fn indent<W: ?Sized + io::Write>(writer: &mut W, level: usize) -> io::Result<()> {
    writer.write_all(b"\n")?;
    writer.write_all(" ".repeat(level).as_bytes())
}

impl Formatter for Lines {
    fn begin_array<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.begin(writer, b"[")
    }

    fn end_array<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.end(writer, b"]")
    }

    fn begin_array_value<W: ?Sized + io::Write>(
        &mut self,
        writer: &mut W,
        first: bool,
    ) -> io::Result<()> {
        self.next(writer, first)
    }

    fn end_array_value<W: ?Sized + io::Write>(&mut self, _writer: &mut W) -> io::Result<()> {
        self.has_value = true;
        Ok(())
    }

    fn begin_object<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.begin(writer, b"{")
    }

    fn end_object<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.end(writer, b"}")
    }

    fn begin_object_key<W: ?Sized + io::Write>(
        &mut self,
        writer: &mut W,
        first: bool,
    ) -> io::Result<()> {
        self.next(writer, first)
    }

    fn begin_object_value<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        CompactFormatter.begin_object_value(writer)?;
        writer.write_all(b" ")
    }

    fn end_object_value<W: ?Sized + io::Write>(&mut self, _writer: &mut W) -> io::Result<()> {
        self.has_value = true;
        Ok(())
    }
}
