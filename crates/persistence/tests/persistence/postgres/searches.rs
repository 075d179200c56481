//! Searches that PostgreSQL itself would refuse.

use keyward_domain::page::{PageRequest, PageSize};
use keyward_domain::ports::{ApiKeys, KeyFilter, StatusFilter};

use crate::database::now;
use crate::postgres::fixture::Fixture;

#[tokio::test]
async fn search_for_nul_finds_nothing() {
    let fixture = Fixture::new().await;
    let consumer = fixture.holder().consumer().id;
    for (term, found) in [("first", 1), ("\0", 0), ("first\0", 0), ("fi\0rst", 0)] {
        let filter = KeyFilter::new(StatusFilter::All, Some(term));
        let page = PageRequest {
            size: PageSize::DEFAULT,
            after: None,
        };
        let page = ApiKeys::list(&fixture.store, consumer, filter, page, now()).await;
        let page = page.expect("an answer");
        assert_eq!((page.items.len(), page.next), (found, None), "{term:?}");
    }
}
