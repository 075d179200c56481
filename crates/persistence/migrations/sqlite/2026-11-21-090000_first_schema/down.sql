DROP TABLE installation;
DROP TABLE sign_in_throttle;
DROP TABLE sessions;
DROP TABLE audit_events;
DROP TABLE api_keys;
DROP TABLE memberships;
DROP TABLE users;
DROP TABLE organizations;
