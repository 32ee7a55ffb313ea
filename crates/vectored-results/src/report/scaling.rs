//! How the fastest technique, and what all achieve together, changes with the number of those who work at the same
//! time: writers, or ranks of a cluster.

use vectored_report::sort;
use vectored_report::words::{enumerated, three_digits};

use crate::model::{Cell, Conditions, Results, TechniqueName, TechniqueResult, Verdict};
use crate::report::shape_text::list_of_cell;
use crate::report::target_names::{conditions_in_words, file_system_in_words, place};

/// The writers or ranks that work at the same time.
pub(crate) struct Crowd {
    /// Singular and plural.
    pub noun: (&'static str, &'static str),
    /// The number of them in a cell, if it has any.
    pub count: fn(&Cell) -> Option<u32>,
    /// The number of them in conditions.
    pub count_in: fn(&mut Conditions) -> &mut Option<u32>,
    /// The calls of all together in a second.
    pub rate: fn(&TechniqueResult) -> Option<f64>,
    /// The rate in words: verb and object.
    pub achieve: (&'static str, &'static str),
}

impl Crowd {
    /// A text for each set of conditions other than their number, after these conditions in words: which technique is
    /// fastest with how many of them, and how what they achieve changes.
    pub fn answers(&self, results: &Results) -> Vec<(String, String)> {
        let cells: Vec<&Cell> = results.cells.iter().collect();
        let groups = self.groups(&cells).into_iter();
        let said = groups.map(|(conditions, cells)| {
            let title = self.title(&conditions, cells.first().copied());
            (title, self.text(&cells, &results.rivals))
        });
        said.collect()
    }

    /// A sentence for all lists that have the same finding.
    fn text(&self, cells: &[&Cell], rivals: &[TechniqueName]) -> String {
        let mut lists: Vec<ListCells<'_>> = Vec::new();
        for &cell in cells {
            match lists.iter_mut().find(|list| list.is_of(cell)) {
                Some(list) => list.cells.push(cell),
                None => lists.push(ListCells {
                    cells: vec![cell],
                    crowd: self,
                }),
            }
        }
        let mut alike: Vec<Vec<ListCells<'_>>> = Vec::new();
        for mut list in lists {
            sort::sort_by_key(&mut list.cells, |cell| (self.count)(cell));
            let outcomes = list.outcomes(rivals);
            match alike
                .iter_mut()
                .find(|others| others[0].outcomes(rivals) == outcomes)
            {
                Some(others) => others.push(list),
                None => alike.push(vec![list]),
            }
        }
        let sentences: Vec<String> = alike.iter().map(|lists| sentence(lists, rivals)).collect();
        sentences.join(" ")
    }

    /// Conditions in words, without their number: see [`place_of`].
    pub fn title(&self, conditions: &Conditions, cell: Option<&Cell>) -> String {
        place_of(&self.without_count(conditions), cell)
    }

    fn without_count(&self, conditions: &Conditions) -> Conditions {
        let mut conditions = conditions.clone();
        *(self.count_in)(&mut conditions) = None;
        conditions
    }

    /// Cells that have any by their conditions, without a number.
    pub fn groups<'a>(&self, cells: &[&'a Cell]) -> Vec<(Conditions, Vec<&'a Cell>)> {
        let mut groups: Vec<(Conditions, Vec<&'a Cell>)> = Vec::new();
        for &cell in cells.iter().filter(|cell| (self.count)(cell).is_some()) {
            let conditions = self.without_count(&cell.conditions);
            match groups.iter_mut().find(|(other, _)| *other == conditions) {
                Some((_, group)) => group.push(cell),
                None => groups.push((conditions, vec![cell])),
            }
        }
        groups
    }

    /// `with 1 writer`, `with 1, 2 and 4 writers`.
    fn counts_in_words(&self, counts: &[u32]) -> String {
        let words: Vec<String> = counts.iter().map(u32::to_string).collect();
        let (one, several) = self.noun;
        let noun = if counts == [1] { one } else { several };
        format!("with {} {noun}", enumerated(&words))
    }
}

/// The cells of one list, by ascending number of the crowd.
struct ListCells<'a> {
    cells: Vec<&'a Cell>,
    crowd: &'a Crowd,
}

/// The fastest technique, or why there is none.
#[derive(PartialEq)]
enum Fastest {
    One(TechniqueName),
    Tie(Vec<TechniqueName>),
    Open,
}

impl ListCells<'_> {
    fn is_of(&self, cell: &Cell) -> bool {
        let this = self.cells[0];
        this.segment_count == cell.segment_count
            && this.segment_bytes == cell.segment_bytes
            && this.segment_sizes == cell.segment_sizes
    }

    /// The fastest techniques, each with the numbers of the crowd for which it is the fastest.
    fn outcomes(&self, rivals: &[TechniqueName]) -> Vec<(Fastest, Vec<u32>)> {
        let mut outcomes: Vec<(Fastest, Vec<u32>)> = Vec::new();
        for cell in &self.cells {
            let count = (self.crowd.count)(cell).unwrap_or(1);
            let fastest = fastest(cell, rivals);
            match outcomes.iter_mut().find(|(other, _)| *other == fastest) {
                Some((_, counts)) => counts.push(count),
                None => outcomes.push((fastest, vec![count])),
            }
        }
        outcomes
    }

    /// The rate of the largest crowd ÷ the rate of the smallest, each by the leader there.
    fn scaling(&self) -> Option<f64> {
        let rate = |cell: &Cell| {
            let leader = cell.technique(cell.leader?)?;
            (self.crowd.rate)(leader)
        };
        let (first, others) = self.cells.split_first()?;
        Some(rate(others.last()?)? / rate(first)?)
    }

    fn counts(&self) -> (u32, u32) {
        let count =
            |cell: Option<&&Cell>| cell.and_then(|cell| (self.crowd.count)(cell)).unwrap_or(1);
        (count(self.cells.first()), count(self.cells.last()))
    }
}

/// `2 × 64 B and 2 × 1 KiB: writev is fastest with 1 and 2 writers; copy-then-write is fastest with 4 writers; 4 writers
/// together write 2.10 to 2.35 times as many records a second as 1.`
fn sentence(lists: &[ListCells<'_>], rivals: &[TechniqueName]) -> String {
    let crowd = lists[0].crowd;
    let parts: Vec<String> = lists[0]
        .outcomes(rivals)
        .iter()
        .map(|(fastest, counts)| {
            let with = crowd.counts_in_words(counts);
            match fastest {
                Fastest::One(technique) => format!("{technique} is fastest {with}"),
                Fastest::Tie(techniques) => {
                    let names = techniques.iter().map(TechniqueName::to_string);
                    format!(
                        "{} are equally fast {with}",
                        enumerated(&names.collect::<Vec<_>>())
                    )
                }
                Fastest::Open => format!("no technique is significantly the fastest {with}"),
            }
        })
        .collect();
    let names: Vec<String> = lists
        .iter()
        .map(|list| list_of_cell(list.cells[0]))
        .collect();
    let mut text = format!("{}: {}", enumerated(&names), parts.join("; "));
    let ratios: Vec<f64> = lists.iter().filter_map(ListCells::scaling).collect();
    if !ratios.is_empty() {
        let least = three_digits(ratios.iter().copied().fold(f64::INFINITY, f64::min));
        let most = three_digits(ratios.iter().copied().fold(0.0, f64::max));
        let ratio = if least == most { least } else { format!("{least} to {most}") };
        let (fewest, count) = lists[0].counts();
        let ((_, nouns), (achieve, what)) = (crowd.noun, crowd.achieve);
        text += &format!(
            "; {count} {nouns} together {achieve} {ratio} times as many {what} a second as {fewest}"
        );
    }
    text + "."
}

fn fastest(cell: &Cell, rivals: &[TechniqueName]) -> Fastest {
    match (cell.verdict, cell.winner, cell.leader) {
        (Verdict::Faster, Some(winner), _) => Fastest::One(winner),
        (Verdict::Tie, _, Some(_)) => {
            let tied = cell.techniques.iter().filter(|one| {
                rivals.contains(&one.name)
                    && one
                        .ratio_high
                        .is_some_and(|high| high <= 1.0 + crate::stats::TIE_ZONE)
            });
            match tied.map(|one| one.name).collect::<Vec<_>>() {
                names if names.len() >= 2 => Fastest::Tie(names),
                _ => Fastest::Open,
            }
        }
        _ => Fastest::Open,
    }
}

/// Conditions in words, with the file system: `file (ext4) read hot`.
pub(crate) fn place_of(conditions: &Conditions, cell: Option<&Cell>) -> String {
    let file_system = cell.map_or_else(String::new, file_system_in_words);
    let target = place(conditions);
    let words = conditions_in_words(conditions);
    let states = words.strip_prefix(&target).unwrap_or_default();
    format!("{target}{file_system}{states}")
}

#[cfg(test)]
mod tests {
    use super::*;

    const WRITERS: Crowd = Crowd {
        noun: ("writer", "writers"),
        count: |_| None,
        count_in: |conditions| &mut conditions.writers,
        rate: |_| None,
        achieve: ("write", "records"),
    };

    #[test]
    fn numbers_of_writers_are_enumerated() {
        assert_eq!(WRITERS.counts_in_words(&[1]), "with 1 writer");
        assert_eq!(WRITERS.counts_in_words(&[4]), "with 4 writers");
        assert_eq!(
            WRITERS.counts_in_words(&[1, 2, 4]),
            "with 1, 2 and 4 writers"
        );
    }
}
