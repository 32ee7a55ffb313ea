//! A grid of styled characters for plots in a terminal.

/// Columns between two plots.
pub(crate) const GAP: usize = 3;

/// The line at 1, the floor.
pub(crate) const FLOOR: char = '┈';

/// Prints canvases of one height side by side.
pub(crate) fn side_by_side(canvases: &[Canvas], color: bool) -> String {
    let mut text = String::new();
    for row in 0..canvases[0].height {
        let mut line = String::new();
        for (index, canvas) in canvases.iter().enumerate() {
            let gap = if index == 0 { 0 } else { GAP };
            line.push_str(&" ".repeat(gap));
            canvas.print(row, color, &mut line);
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

/// How a character is shown.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Style {
    None,
    Bold,
    Faint,
    /// An SGR colour.
    Color(u8),
}

impl Style {
    pub fn of(technique: usize) -> Style {
        const COLORS: [u8; 6] = [31, 32, 36, 35, 33, 34];
        Style::Color(COLORS[technique % COLORS.len()])
    }

    pub fn paint(self, c: char, color: bool) -> String {
        match self {
            _ if !color => c.to_string(),
            Style::None => c.to_string(),
            Style::Bold => format!("\x1b[1m{c}\x1b[0m"),
            Style::Faint => format!("\x1b[2m{c}\x1b[0m"),
            Style::Color(code) => format!("\x1b[{code}m{c}\x1b[0m"),
        }
    }
}

/// Characters and their styles.
pub(crate) struct Canvas {
    pub width: usize,
    height: usize,
    places: Vec<(char, Style)>,
}

impl Canvas {
    pub fn new(width: usize, height: usize) -> Self {
        Canvas {
            width,
            height,
            places: vec![(' ', Style::None); width * height],
        }
    }

    /// Characters outside the canvas are dropped.
    pub fn put(&mut self, row: usize, column: usize, c: char, style: Style) {
        if row < self.height && column < self.width {
            self.places[row * self.width + column] = (c, style);
        }
    }

    pub fn write(&mut self, row: usize, column: usize, text: &str, style: Style) {
        for (index, c) in text.chars().enumerate() {
            self.put(row, column + index, c, style);
        }
    }

    /// Sets one of the 2 × 4 dots of a place, unless it holds a letter.
    pub fn dot(
        &mut self,
        (row, column): (usize, usize),
        (down, right): (usize, usize),
        style: Style,
    ) {
        // The order of the dots from U+2800 to U+28FF.
        const BITS: [[u32; 2]; 4] = [[0x01, 0x08], [0x02, 0x10], [0x04, 0x20], [0x40, 0x80]];
        if row >= self.height || column >= self.width {
            return;
        }
        let place = &mut self.places[row * self.width + column];
        let dots = match place.0 as u32 {
            dots @ 0x2800..=0x28ff => dots,
            _ if place.0 == ' ' || place.0 == FLOOR => 0x2800,
            _ => return,
        };
        if let Some(c) = char::from_u32(dots | BITS[down][right]) {
            *place = (c, style);
        }
    }

    fn print(&self, row: usize, color: bool, line: &mut String) {
        for &(c, style) in &self.places[row * self.width..][..self.width] {
            let style = if c == ' ' { Style::None } else { style };
            line.push_str(&style.paint(c, color));
        }
    }
}
