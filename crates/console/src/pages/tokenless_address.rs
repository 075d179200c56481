//! Keeps whole tokens out of the addresses of lists that can be searched: a browser's history, and the logs of whatever is on the way, keep
//! addresses.

use keyward_domain::token::{LENGTH, PREFIX};
use poem::{FromRequest, Request, RequestBody};

use crate::forms::Query;
use crate::links;
use crate::refusal::Refusal;

/// A list's address, in which no token is searched for. One that has a token leads to the search for its last four
/// characters, by which the list finds a key.
pub(super) struct TokenlessAddress;

impl TokenlessAddress {
    /// The part of the query that says that a token was left out.
    pub(super) const NOTICE: &str = "left-out";
    /// What people type into.
    const TYPED: [&str; 3] = ["search", "who", "what"];
    /// What they choose, which stays as it is.
    const CHOSEN: [&str; 6] = ["status", "unused", "holder", "action", "from", "until"];
}

impl<'a> FromRequest<'a> for TokenlessAddress {
    async fn from_request(request: &'a Request, body: &mut RequestBody) -> poem::Result<Self> {
        let Query(query) = Query::from_request(request, body).await?;
        let typed = Self::TYPED.map(|part| (part, query.optional(part)));
        let without_tokens =
            typed.map(|(part, text)| (part, text.map(|text| end_of_token(text).unwrap_or(text))));
        if typed == without_tokens {
            return Ok(Self);
        }
        let chosen = Self::CHOSEN.map(|part| (part, query.optional(part)));
        let notice = [(Self::NOTICE, Some("token"))];
        let parts = chosen.into_iter().chain(without_tokens).chain(notice);
        let instead = links::with_query(request.uri().path(), parts);
        Err(Refusal::TokenInAddress { instead }.into())
    }
}

/// The last four characters of the first token in a text. What may be one is enough: mistyped, cut off, or with words
/// around it.
fn end_of_token(text: &str) -> Option<&str> {
    const SHOWN: usize = 4;
    text.match_indices(PREFIX).find_map(|(at, _)| {
        let token = text.get(at..)?;
        let body = token.get(PREFIX.len()..)?;
        let length = body.bytes().take_while(u8::is_ascii_alphanumeric).count();
        // Shorter ones are words that somebody wrote, such as a name: there is nothing to guess from so little.
        if length < LENGTH / 2 {
            return None;
        }
        body.get(length - SHOWN..length)
    })
}

#[cfg(test)]
mod tests {
    use super::end_of_token;

    #[test]
    fn a_token_is_seen_whole_mistyped_cut_off_or_among_words() {
        let token = "kwp_000000000000000000000000000000002wjyrI";
        for text in [
            token,
            "kwp_00000000000000000000000000000000xxjyrI",
            "kwp_000000000000000000000jyrI",
            "Authorization: Bearer kwp_000000000000000000000000000000002wjyrI",
            "\u{a0}export TOKEN='kwp_000000000000000000000000000000002wjyrI' #",
        ] {
            assert_eq!(end_of_token(text), Some("jyrI"), "{text}");
        }
    }

    #[test]
    fn what_people_search_for_is_no_token() {
        for text in [
            "",
            "deploy",
            "jyrI",
            "kwp_",
            "kwp_…jyrI",
            "kwp_deploy bot",
            "é",
            "kwp_é",
        ] {
            assert_eq!(end_of_token(text), None, "{text}");
        }
    }
}
