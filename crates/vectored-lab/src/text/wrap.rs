//! Breaking text into lines.

/// Joins `parts` (texts with their widths) by blanks into lines of at most `width` columns. A part that is
/// wider has a line of its own.
pub(crate) fn wrapped(
    parts: impl IntoIterator<Item = (String, usize)>,
    width: usize,
) -> Vec<String> {
    let mut lines = Vec::new();
    let (mut line, mut used) = (String::new(), 0);
    for (part, length) in parts {
        if used > 0 && used + 1 + length > width {
            lines.push(std::mem::take(&mut line));
            used = 0;
        }
        if used > 0 {
            line.push(' ');
            used += 1;
        }
        line += &part;
        used += length;
    }
    lines.push(line);
    lines
        .iter()
        .map(|line| line.trim_end().to_owned())
        .collect()
}
