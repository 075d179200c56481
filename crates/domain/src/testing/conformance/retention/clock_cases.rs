//! Cases of checking the clock before records are removed.

use chrono::TimeDelta;

use super::super::Stores;
use super::super::scene::Scene;

/// A hundred years, so that no database's own clock bears it out.
const FAR_AHEAD: TimeDelta = TimeDelta::days(36_525);

pub(super) async fn clock_far_ahead_is_rejected_at_every_check(stores: Stores) {
    let (scene, ada) = Scene::with_owner(stores).await;
    scene.add_key(&ada, "kept").await;
    let wrong = scene.now() + FAR_AHEAD;
    for hours in [0, 1, 23, 24, 25, 48, 24 * 40] {
        let look = scene
            .stores
            .retention
            .check_clock(wrong + TimeDelta::hours(hours), false);
        assert!(
            look.await.expect("the store answers").is_some(),
            "after {hours} hours"
        );
    }
}
