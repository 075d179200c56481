//! The common name of the browser in which a session was started.

use keyward_domain::sign_in::UserAgent;

/// The words in a `User-Agent` that tell browsers apart. Each also names those whose engine it has, so the first that
/// matches counts.
const BROWSERS: [(&str, &str); 7] = [
    ("Edg", "Edge"),
    ("OPR/", "Opera"),
    ("Firefox/", "Firefox"),
    ("FxiOS/", "Firefox"),
    ("CriOS/", "Chrome"),
    ("Chrome/", "Chrome"),
    ("Safari/", "Safari"),
];

/// Operating systems, by a part of the header `User-Agent`.
const SYSTEMS: [(&str, &str); 7] = [
    ("iPhone", "iPhone"),
    ("iPad", "iPad"),
    ("Android", "Android"),
    ("Windows", "Windows"),
    ("Mac OS X", "macOS"),
    ("CrOS", "ChromeOS"),
    ("Linux", "Linux"),
];

/// Browser and system in a few words; the `User-Agent` itself if neither is known.
pub(super) fn browser_name(user_agent: &UserAgent) -> String {
    let said = user_agent.as_str();
    let known = |names: &[(&str, &'static str)]| {
        let found = names.iter().find(|(word, _)| said.contains(word));
        found.map(|(_, name)| *name)
    };
    match (known(&BROWSERS), known(&SYSTEMS)) {
        (Some(browser), Some(system)) => format!("{browser} on {system}"),
        (Some(browser), None) => browser.to_owned(),
        (None, _) => said.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use keyward_domain::sign_in::UserAgent;

    use super::browser_name;

    #[test]
    fn user_agent_maps_to_common_browser_name() {
        let windows = "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) ";
        let phone = "Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) ";
        for (said, name) in [
            (format!("{windows}Chrome/140.0.0.0 Safari/537.36"), "Chrome on Windows"),
            (
                format!("{windows}Chrome/140.0.0.0 Safari/537.36 Edg/140.0.0.0"),
                "Edge on Windows",
            ),
            (
                format!("{windows}Chrome/140.0.0.0 Safari/537.36 OPR/120.0.0.0"),
                "Opera on Windows",
            ),
            (format!("{phone}Version/18.5 Mobile/15E148 Safari/604.1"), "Safari on iPhone"),
            (format!("{phone}CriOS/140.0 Mobile/15E148 Safari/604.1"), "Chrome on iPhone"),
            (
                "Mozilla/5.0 (X11; Linux x86_64; rv:143.0) Gecko/20100101 Firefox/143.0".to_owned(),
                "Firefox on Linux",
            ),
            (
                "Mozilla/5.0 (Linux; Android 15) AppleWebKit/537.36 Chrome/140.0 Mobile Safari/537.36".to_owned(),
                "Chrome on Android",
            ),
            (
                "Mozilla/5.0 (Macintosh; Intel Mac OS X 14_7) AppleWebKit/605.1.15 Version/18.0 Safari/605.1.15"
                    .to_owned(),
                "Safari on macOS",
            ),
            ("curl/8.14.1".to_owned(), "curl/8.14.1"),
        ] {
            let agent = UserAgent::from_header(&said).unwrap();
            assert_eq!(browser_name(&agent), name, "{said}");
        }
    }
}
