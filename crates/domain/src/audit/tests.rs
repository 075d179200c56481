use uuid::Uuid;

use super::{Actor, InvalidReference, Subject};

#[test]
fn actors_and_subjects_are_read_back_from_kind_and_id() {
    let id = Some(Uuid::from_u128(7));
    for kind in ["user", "api_key", "administrator", "system", "anonymous"] {
        let actor = Actor::from_kind(kind, id).unwrap();
        assert_eq!((actor.kind(), actor.id()), (kind, actor.as_subject().and(id)));
    }
    let kinds = "organization user membership invitation project api_key session key_set";
    for kind in kinds.split(' ') {
        let subject = Subject::from_kind(kind, id).unwrap();
        assert_eq!((subject.kind(), subject.id()), (kind, id));
    }
    let installation = Subject::from_kind("installation", None);
    assert_eq!(installation, Ok(Subject::Installation));
}

#[test]
fn unknown_kind_and_missing_id_are_distinguished() {
    use InvalidReference::{MissingId, UnknownKind};
    let id = Some(Uuid::from_u128(7));
    assert_eq!(Actor::from_kind("project", None), Err(UnknownKind));
    assert_eq!(Actor::from_kind("user", None), Err(MissingId));
    for kind in ["", "Key Set", "key.set"] {
        assert_eq!(Subject::from_kind(kind, id), Err(UnknownKind), "{kind:?}");
    }
    for kind in ["user", "key_set"] {
        assert_eq!(Subject::from_kind(kind, None), Err(MissingId), "{kind:?}");
    }
}
