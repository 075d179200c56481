//! Renders the document's descriptions and the definitions of problems as HTML.

/// Escapes a text, and converts backticks to `<code>`.
pub(crate) fn html(text: &str) -> String {
    let escaped = text
        .replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;");
    let mut parts = escaped.split('`');
    let mut html = parts.next().unwrap_or_default().to_owned();
    for (index, part) in parts.enumerate() {
        html.push_str(if index % 2 == 0 { "<code>" } else { "</code>" });
        html.push_str(part);
    }
    html
}

/// The same for a text of several paragraphs, separated by empty lines.
pub(crate) fn paragraphs(text: &str) -> String {
    text.split("\n\n")
        .filter(|paragraph| !paragraph.is_empty())
        .map(|paragraph| format!("<p>{}</p>\n", html(paragraph)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::{html, paragraphs};

    #[test]
    fn prose_is_escaped_with_backticks_as_code() {
        assert_eq!(
            html("send `Bearer <key>` & wait"),
            "send <code>Bearer &lt;key&gt;</code> &amp; wait"
        );
    }

    #[test]
    fn empty_lines_separate_paragraphs() {
        assert_eq!(
            paragraphs("One.\n\n`two`"),
            "<p>One.</p>\n<p><code>two</code></p>\n"
        );
        assert_eq!(paragraphs(""), "");
    }
}
