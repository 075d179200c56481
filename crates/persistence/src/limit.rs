//! Numbers of rows: values for SQL's LIMIT, and counts.

use keyward_domain::page::PageSize;

pub(crate) fn at_most(rows: usize) -> i64 {
    i64::try_from(rows).unwrap_or(i64::MAX)
}

/// How many rows there are: of each query here, far fewer than `u32::MAX`.
pub(crate) fn to_u32(rows: usize) -> u32 {
    u32::try_from(rows).unwrap_or(u32::MAX)
}

/// One row more than the page size, which shows whether there is a next page.
pub(crate) fn one_more(size: PageSize) -> i64 {
    at_most(size.items().saturating_add(1))
}
