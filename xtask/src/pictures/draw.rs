//! The drawings. Positions are pixels of a drawing that is as wide as its margins leave.

use vectored_measure::measure::Contender;
use vectored_report::pictures::{Anchor, Drawing, Picture, Scale, curves};
use vectored_report::{Chart, Curve, Mark, Point, Series, Unit, words};
use vectored_results::model::TechniqueName;

use super::data::{Data, Times};

/// The width of a picture, with the margins.
const WIDTH: f64 = 380.0;
const MARGIN: f64 = 6.0;
/// The right end of what is drawn.
pub(super) const END: f64 = WIDTH - 2.0 * MARGIN;

const COPY: TechniqueName = TechniqueName::COPY_THEN_WRITE;

/// All pictures, by the names of their files.
pub fn all(data: &Data) -> [(&'static str, String); 4] {
    [
        ("techniques.svg", techniques(data)),
        ("rounds.svg", rounds(data)),
        ("crossover.svg", crossover(data)),
        ("costs.svg", costs(data)),
    ]
}

/// A drawing with pixels across.
pub(super) struct Canvas {
    drawing: Drawing,
    margins: (f64, f64),
}

impl Canvas {
    pub(super) fn new(height: f64) -> Self {
        Canvas {
            drawing: Drawing::new(height, (0.0, height)),
            margins: (MARGIN, MARGIN),
        }
    }

    fn share(&self, x: f64) -> f64 {
        x / (WIDTH - self.margins.0 - self.margins.1)
    }

    pub(super) fn text(&mut self, (x, y): (f64, f64), anchor: Anchor, text: &str) {
        self.drawing.text((self.share(x), y), anchor, text);
    }

    fn corners(&self, (left, right): (f64, f64), (top, bottom): (f64, f64)) -> [(f64, f64); 5] {
        let [left, right] = [left, right].map(|x| self.share(x));
        let [begin, end] = [(left, top), (left, bottom)];
        [begin, (right, top), (right, bottom), end, begin]
    }

    pub(super) fn area(&mut self, across: (f64, f64), down: (f64, f64), class: &str) {
        let corners = self.corners(across, down);
        self.drawing.area(&corners[..4], &format!("bar {class}"));
    }

    /// A faint area.
    pub(super) fn shade(&mut self, across: (f64, f64), down: (f64, f64), class: &str) {
        let corners = self.corners(across, down);
        self.drawing.area(&corners[..4], class);
    }

    fn outline(&mut self, across: (f64, f64), down: (f64, f64), class: &str) {
        let corners = self.corners(across, down);
        self.drawing.line(&corners, class);
    }

    fn line(&mut self, x: f64, (top, bottom): (f64, f64), class: &str) {
        let x = self.share(x);
        self.drawing.line(&[(x, top), (x, bottom)], class);
    }

    /// Lines down, with times below them.
    fn times(&mut self, across: &Scale, (top, bottom): (f64, f64)) {
        for tick in across.ticks() {
            let x = across.place(tick);
            let words = if tick > 0.0 { words::time(tick) } else { "0".to_owned() };
            self.line(x, (top, bottom), "grid");
            self.text((x, bottom + 14.0), Anchor::Centred, &words);
        }
    }

    /// A square of a colour, and what it stands for.
    fn key(&mut self, (x, y): (f64, f64), class: &str, text: &str) {
        self.area((x, x + 11.0), (y - 10.0, y + 1.0), class);
        self.text((x + 16.0, y), Anchor::Right, text);
    }

    fn file(&self, title: &str, description: &str, data: &Data) -> String {
        let source = format!("{}, {}", data.machine, data.date);
        self.file_of(title, description, &source)
    }

    /// `source` is the machine and the date of the figures.
    pub(super) fn file_of(&self, title: &str, description: &str, source: &str) -> String {
        self.drawing.file(&Picture {
            title,
            description,
            source,
            margins: self.margins,
        })
    }
}

/// How a list reaches the kernel.
fn techniques(data: &Data) -> String {
    const PANEL: f64 = 80.0;
    const GAP: f64 = 7.0;
    const LEFT: f64 = 68.0;
    let mut canvas = Canvas::new(PANEL * data.calls.len() as f64 + 20.0);
    // Short segments have place for their sizes.
    let share = |bytes: usize| (bytes as f64).ln();
    let gaps = GAP * (data.list.len() - 1) as f64;
    let unit = (END - 3.0 - LEFT - gaps) / data.list.iter().copied().map(share).sum::<f64>();
    let mut left = LEFT;
    let mut places = Vec::new();
    for &bytes in &data.list {
        places.push((left, left + unit * share(bytes)));
        left += unit * share(bytes) + GAP;
    }
    let mut description = String::new();
    for (index, (technique, made)) in data.calls.iter().enumerate() {
        let top = PANEL * index as f64;
        let [above, below] = [(top + 20.0, top + 38.0), (top + 51.0, top + 69.0)];
        let whole = |place: (f64, f64)| (place.0 + place.1) / 2.0;
        for (&place, &bytes) in places.iter().zip(&data.list) {
            canvas.area(place, above, "s3");
            let label = words::grouped(bytes as u64);
            canvas.text((whole(place), above.1 - 5.0), Anchor::Centred, &label);
        }
        canvas.text((LEFT, above.1 - 5.0), Anchor::Left, "segments");
        canvas.text((LEFT, below.1 - 5.0), Anchor::Left, "calls");
        let (mut next, mut copied) = (0, 0);
        for entries in made {
            let first = next;
            for &bytes in entries {
                let begin = next;
                let mut left = bytes;
                while left > 0 {
                    left -= data.list[next].min(left);
                    next += 1;
                }
                let place = (places[begin].0, places[next - 1].1);
                // Segments lie apart in memory, so an entry with several of them is a copy.
                let is_copy = next - begin > 1;
                copied += if is_copy { bytes } else { 0 };
                canvas.area(place, below, if is_copy { "s2" } else { "s3" });
                let label = words::grouped(bytes as u64);
                canvas.text((whole(place), below.1 - 5.0), Anchor::Centred, &label);
                for segment in &places[begin..next] {
                    canvas.line(whole(*segment), (above.1, below.0), "grid");
                }
            }
            let across = (places[first].0 - 2.5, places[next - 1].1 + 2.5);
            canvas.outline(across, (below.0 - 3.0, below.1 + 3.0), "base");
        }
        let counted = format!(
            "{}, {} B copied",
            words::count(made.len(), "call"),
            words::grouped(copied as u64)
        );
        canvas.text((0.0, top + 12.0), Anchor::Right, technique);
        canvas.text((END + 4.0, top + 12.0), Anchor::Left, &counted);
        description += &format!("{technique}: {counted}. ");
    }
    let bottom = PANEL * data.calls.len() as f64 + 13.0;
    canvas.key((LEFT, bottom), "s3", "passed as it is");
    canvas.key((LEFT + 114.0, bottom), "s2", "a copy");
    canvas.outline(
        (LEFT + 186.0, LEFT + 197.0),
        (bottom - 10.0, bottom + 1.0),
        "base",
    );
    canvas.text((LEFT + 202.0, bottom), Anchor::Right, "a system call");
    canvas.file("How a list reaches the kernel", &description, data)
}

/// Rounds of samples, one below the other.
fn rounds(data: &Data) -> String {
    const ROW: f64 = 25.0;
    const TOP: f64 = 22.0;
    const LEFT: f64 = 24.0;
    const RIGHT: f64 = 316.0;
    let bottom = TOP + ROW * data.rounds.len() as f64;
    let mut canvas = Canvas::new(bottom + 78.0);
    let took = |round: &[(Contender, u64)]| round.iter().map(|sample| sample.1 as f64).sum();
    let ends = data.rounds.iter().map(|round| took(round));
    let across = Scale::linear(ends, (LEFT, RIGHT)).expect("a round takes time");
    canvas.times(&across, (TOP, bottom));
    canvas.text((0.0, 12.0), Anchor::Right, "round");
    canvas.text((END + 4.0, 12.0), Anchor::Left, "writev ÷ copy");
    for (index, round) in data.rounds.iter().enumerate() {
        let top = TOP + ROW * index as f64;
        let line = top + 16.0;
        canvas.text((LEFT, line), Anchor::Left, &(index + 1).to_string());
        let mut began = 0.0;
        for &(contender, elapsed_ns) in round {
            let ended = began + elapsed_ns as f64;
            let place = (across.place(began), across.place(ended));
            let (letter, class) = sign(contender);
            canvas.area((place.0, place.1 - 1.0), (top + 3.0, top + 21.0), class);
            canvas.text(((place.0 + place.1) / 2.0, line), Anchor::Centred, letter);
            began = ended;
        }
        let time_of = |name| {
            let is = |sample: &&(Contender, u64)| sample.0 == Contender::Technique(name);
            round.iter().find(is).map(|sample| sample.1 as f64)
        };
        if let Some((copy, writev)) = time_of(COPY).zip(time_of(TechniqueName::WRITEV)) {
            let ratio = words::ratio(writev / copy);
            canvas.text((END + 4.0, line), Anchor::Left, &ratio);
        }
    }
    let (ratio, low, high) = data.all_rounds.ratio;
    let rounds = data.all_rounds.rounds;
    let all = words::ratio_within(ratio, Some((low, high)));
    let all = format!("writev ÷ copy in all {rounds} rounds: {all}");
    canvas.text((0.0, bottom + 35.0), Anchor::Right, &all);
    let keys = [
        (
            Contender::Technique(TechniqueName::WRITE_EACH),
            "write-each",
        ),
        (Contender::Technique(COPY), "copy-then-write"),
        (Contender::Technique(TechniqueName::WRITEV), "writev"),
        (Contender::Floor, "floor"),
        (Contender::FloorAgain, "floor again: the A/A pair"),
    ];
    for (index, (contender, name)) in keys.into_iter().enumerate() {
        let (letter, class) = sign(contender);
        let x = [0.0, 112.0, 256.0][index % 3];
        let y = bottom + 54.0 + 18.0 * (index / 3) as f64;
        canvas.key((x, y), class, &format!("{letter} {name}"));
    }
    let description = format!(
        "{} rounds with the time of each sample, in the order in which they were taken. Each round has one sample of each \
         contender, in another order; the floor has a second one in every second round. {all}.",
        data.rounds.len()
    );
    canvas.file("Rounds of samples", &description, data)
}

/// The letter and the colour of a contender.
fn sign(contender: Contender) -> (&'static str, &'static str) {
    match contender {
        Contender::Floor => ("F", "s5"),
        Contender::FloorAgain => ("A", "s0"),
        Contender::Technique(TechniqueName::WRITE_EACH) => ("E", "s1"),
        Contender::Technique(COPY) => ("C", "s2"),
        Contender::Technique(_) => ("G", "s3"),
    }
}

/// The ratio of two techniques over the size of segments, and where it crosses 1.
fn crossover(data: &Data) -> String {
    let point = |size: &Times| Point {
        at: size.segment_bytes as f64,
        value: size.ratio.0,
        interval: Some((size.ratio.1, size.ratio.2)),
        words: words::ratio(size.ratio.0).into(),
    };
    let found = &data.crossover;
    let (at, low, high) = (found.at_bytes, found.low_bytes, found.high_bytes);
    let crossing = format!("crossover: {}", words::about_within(at, low, high));
    let chart = Chart {
        along: Unit::Bytes,
        up: Unit::Ratio,
        curves: vec![Curve {
            series: Series::new(3),
            points: data.sizes.iter().map(point).collect(),
            ..Curve::default()
        }],
        marks: vec![Mark {
            at,
            low,
            high,
            label: crossing.as_str().into(),
        }],
        labelled: [70.0, 280.0, 1100.0, 2700.0, 8900.0].to_vec(),
        base: Some(1.0),
        ..Chart::default()
    };
    let margins = (52.0, 20.0);
    let drawing = curves(&chart).expect("sizes were measured");
    let mut canvas = Canvas { drawing, margins };
    let width = WIDTH - margins.0 - margins.1;
    canvas.text((width, 36.0), Anchor::Left, "above 1:");
    canvas.text((width, 52.0), Anchor::Left, "copy");
    canvas.text((8.0, 220.0), Anchor::Right, "below 1: gather");
    canvas.text((8.0, 236.0), Anchor::Right, "up: the time of writev ÷");
    canvas.text((8.0, 252.0), Anchor::Right, "that of copying");
    let points = data.sizes.iter().map(|size| {
        let bytes = words::bytes(size.segment_bytes as u64);
        format!("{bytes}: {}", words::ratio(size.ratio.0))
    });
    let description = format!(
        "The time of writev ÷ that of copying, by the size of a segment: {}. The {crossing}.",
        words::enumerated(&points.collect::<Vec<_>>()),
    );
    canvas.file("A crossover and its interval", &description, data)
}

/// Where the time of a call goes.
fn costs(data: &Data) -> String {
    const GROUP: f64 = 74.0;
    const ROW: f64 = 25.0;
    const LEFT: f64 = 48.0;
    let bottom = GROUP * data.pipe.len() as f64;
    let mut canvas = Canvas::new(bottom + 98.0);
    let most = data
        .pipe
        .iter()
        .map(|size| size.copy_ns.max(size.writev_ns));
    let across = Scale::linear(most, (LEFT, END - 16.0)).expect("times");
    canvas.times(&across, (0.0, bottom));
    let model = &data.model;
    let mut description = String::new();
    for (index, size) in data.pipe.iter().enumerate() {
        let top = GROUP * index as f64;
        let (count, bytes) = (size.segment_count, size.segment_count * size.segment_bytes);
        let list = words::list(&[(count, size.segment_bytes)]);
        canvas.text((LEFT + 4.0, top + 13.0), Anchor::Right, &list);
        let pages_ns = bytes as f64 / 4096.0 * data.page_ns;
        let write_ns = model.write_ns(bytes as u64);
        let segments_ns = count as f64 * model.copy_segment_ns;
        let copied_ns = model.copy_then_write_ns(count, bytes as u64) - write_ns - segments_ns;
        let listed_ns = model.writev_ns(count, bytes as u64) - write_ns;
        let bars = [
            ("copy", size.copy_ns, segments_ns, copied_ns),
            ("writev", size.writev_ns, listed_ns, 0.0),
        ];
        for (row, (name, measured_ns, segments_ns, copied_ns)) in bars.into_iter().enumerate() {
            let top = top + 19.0 + ROW * row as f64;
            let foot = top + 19.0;
            canvas.text((LEFT, foot - 5.0), Anchor::Left, name);
            let parts = [
                ("s5", data.entry_ns),
                ("s0", model.call_ns - data.entry_ns),
                ("s1", pages_ns),
                ("s4", write_ns - model.call_ns - pages_ns),
                ("s3", segments_ns),
                ("s2", copied_ns),
            ];
            let mut total = 0.0;
            for (class, ns) in parts {
                let place = (across.place(total), across.place(total + ns));
                canvas.area(place, (top, foot), class);
                total += ns;
            }
            canvas.line(
                across.place(measured_ns),
                (top - 3.0, foot + 3.0),
                "whisker",
            );
            description += &format!(
                "{list}, {name}: {} by the model, {} measured. ",
                words::time(total),
                words::time(measured_ns)
            );
        }
    }
    let keys = [
        ("s5", "entry into the kernel"),
        ("s0", "the rest of the call"),
        ("s1", "pages of the pipe"),
        ("s4", "bytes, moved by the kernel"),
        ("s3", "the list and its segments"),
        ("s2", "bytes, copied before"),
    ];
    for (index, (class, text)) in keys.into_iter().enumerate() {
        let x = [0.0, 184.0][index % 2];
        canvas.key((x, bottom + 36.0 + 19.0 * (index / 2) as f64), class, text);
    }
    let y = bottom + 93.0;
    canvas.line(5.5, (y - 12.0, y + 2.0), "whisker");
    canvas.text((16.0, y), Anchor::Right, "measured (median)");
    canvas.file("Where the time of a call goes", &description, data)
}
