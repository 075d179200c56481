//! Which part of the viewer's keys the list shows, and the words for it.

use keyward_domain::id::ApiKeyId;
use keyward_domain::organization::Slug;
use keyward_domain::ports::StatusFilter;

use crate::forms::Fields;
use crate::links;
use crate::pages::settings::SectionLink;
use crate::refusal::Refusal;

/// The query of the list's address.
pub(super) struct Listing<'a> {
    pub(super) status: StatusFilter,
    pub(super) search: &'a str,
    /// The last key of the page before.
    pub(super) after: Option<ApiKeyId>,
}

impl<'a> Listing<'a> {
    pub(super) fn parse(query: &'a Fields) -> Result<Self, Refusal> {
        let status = match query.optional("status") {
            None => StatusFilter::default(),
            Some(word) => StatusFilter::from_word(word).ok_or(Refusal::BadAddress)?,
        };
        let after = match query.optional("after") {
            None => None,
            Some(id) => Some(id.parse().map_err(|_| Refusal::BadAddress)?),
        };
        Ok(Self {
            status,
            search: query.optional("search").unwrap_or_default().trim(),
            after,
        })
    }

    /// The address of this list, from its newest key or from the one after.
    pub(super) fn address(&self, slug: &Slug, after: Option<ApiKeyId>) -> String {
        let after = after.map(|id| id.to_string());
        links::with_query(
            &links::api_keys(slug),
            [
                (
                    "status",
                    (self.status != StatusFilter::default()).then_some(self.status.as_str()),
                ),
                ("search", (!self.search.is_empty()).then_some(self.search)),
                ("after", after.as_deref()),
            ],
        )
    }

    /// The same search among the keys of a status.
    pub(super) fn with_status(&self, status: StatusFilter) -> Self {
        Self {
            status,
            search: self.search,
            after: None,
        }
    }

    /// The keys of the same status, whatever they are called.
    pub(super) fn without_search(&self) -> Self {
        Self {
            status: self.status,
            search: "",
            after: None,
        }
    }

    pub(super) fn statuses(&self, slug: &Slug) -> Vec<SectionLink> {
        [
            (StatusFilter::Valid, "Valid"),
            (StatusFilter::Revoked, "Revoked"),
            (StatusFilter::All, "All"),
        ]
        .map(|(status, label)| SectionLink {
            label,
            address: self.with_status(status).address(slug, None),
            is_current: status == self.status,
        })
        .into()
    }

    /// How the page's title calls the list.
    pub(super) const fn title(&self) -> &'static str {
        match self.status {
            StatusFilter::Valid => "API Keys",
            StatusFilter::Revoked => "Revoked API Keys",
            StatusFilter::All => "All API Keys",
        }
    }

    /// What the table holds: "3 valid keys". The words of a search follow.
    pub(super) fn caption(&self, count: usize, has_older: bool) -> String {
        let state = match self.status {
            StatusFilter::Valid => "valid ",
            StatusFilter::Revoked => "revoked ",
            StatusFilter::All => "",
        };
        let keys = if count == 1 { "key" } else { "keys" };
        match (self.after, has_older) {
            (None, false) => format!("{count} {state}{keys}"),
            (None, true) => format!("The {count} newest {state}{keys}"),
            (Some(_), _) => format!("{count} older {state}{keys}"),
        }
    }
}
