//! How many rows a query may find, as SQL has it.

use keyward_domain::page::PageSize;

pub(crate) fn at_most(rows: usize) -> i64 {
    i64::try_from(rows).unwrap_or(i64::MAX)
}

/// One row more than a page holds says whether there is a next page.
pub(crate) fn one_more(size: PageSize) -> i64 {
    at_most(size.items().saturating_add(1))
}
