module millrace/go_client

go 1.19

require millrace v0.0.0

replace millrace => ../../../bindings/go
