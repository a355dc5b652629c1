"""Values as other programs push them: each protocol reads its bodies into series, and from there the way is one."""
