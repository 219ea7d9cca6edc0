-- Format 3: a finding may have a quote, a fact be a boundary or a ruling over others. Rows of before are read as they are; an
-- older program, which would not know what it reads, refuses from here on.
-- depends: 0002.row_security

COMMENT ON TABLE facts IS 'format 3';
