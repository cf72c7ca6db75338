//! Tells the linker where libmillrace is: MILLRACE_LIB_DIR, else pkg-config, else the system's path.
//! The generated declarations are committed, so nothing is parsed here.

use std::env;
use std::process::Command;

fn main() {
    println!("cargo:rerun-if-env-changed=MILLRACE_LIB_DIR");
    println!("cargo:rerun-if-env-changed=PKG_CONFIG_PATH");
    if env::var_os("CARGO_FEATURE_LINK").is_none() {
        return;
    }
    println!("cargo:rustc-link-lib=dylib=millrace");
    if let Some(folder) = env::var_os("MILLRACE_LIB_DIR") {
        search(&folder.to_string_lossy());
        return;
    }
    let asked = Command::new("pkg-config").args(["--libs-only-L", "millrace"]).output();
    if let Ok(output) = asked {
        // Fields are separated by blanks; a blank within a path is escaped with a backslash.
        let text = String::from_utf8_lossy(&output.stdout).replace("\\ ", "\0");
        for field in text.split_whitespace().filter_map(|field| field.strip_prefix("-L")) {
            search(&field.replace('\0', " "));
        }
    }
}

fn search(folder: &str) {
    println!("cargo:rustc-link-search=native={folder}");
    // Dependent build scripts read DEP_MILLRACE_LIB_DIR, for example to set a run path.
    println!("cargo:lib_dir={folder}");
}
