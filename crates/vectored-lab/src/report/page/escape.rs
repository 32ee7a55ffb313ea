//! Escaping of external text.

use crate::text::format::escape_control;

/// A text for HTML, between tags or in a quoted attribute.
pub fn escape(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in escape_control(text).chars() {
        match c {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            _ => safe.push(c),
        }
    }
    safe
}

/// JSON as the content of a `script` element, which ends at the first `</script` and treats `<!--`
/// specially, so every `<` is escaped. JSON has it in strings only, where an escape is valid.
pub fn in_script(json: &str) -> String {
    json.replace('<', "\\u003c")
        .replace('\u{2028}', "\\u2028")
        .replace('\u{2029}', "\\u2029")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_becomes_text() {
        let hostile = "<script>alert('x')</script>\"&\x1b[2J";
        let safe = escape(hostile);
        assert_eq!(
            safe,
            "&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;&quot;&amp;\\u{1b}[2J"
        );
    }

    #[test]
    fn data_cannot_end_their_script_and_stay_the_same() {
        let hostile = "</script><!-- <script> \u{2028}";
        let json = serde_json::to_string(hostile).unwrap();
        let embedded = in_script(&json);
        assert!(!embedded.contains('<'), "{embedded}");
        let back: String = serde_json::from_str(&embedded).unwrap();
        assert_eq!(back, hostile);
    }
}
