-- The lookup as Keyward sends it (`persistence`, `sql/credentials.rs`).
SELECT api_keys.id, api_keys.created_at, api_keys.can_manage_keys, api_keys.revoked_at, api_keys.end_came_at,
    memberships.id, memberships.ended_at, memberships.end_came_at, users.id, users.username, organizations.id,
    organizations.slug, organizations.name
FROM api_keys INNER JOIN (
    memberships INNER JOIN users ON memberships.user_id = users.id
    INNER JOIN organizations ON memberships.organization_id = organizations.id
) ON api_keys.consumer_id = memberships.id
WHERE api_keys.digest = :digest;
