# The attentions in ./train --help whose text has `with` (empty: all).
/^--attn NAME/ { on = 1; next }
on && /^$/ { exit }
on && /^  [a-z]/ { name[++n] = $1 }
on { sub(/^ +/, " "); text[n] = text[n] $0 }
END { for (i = 1; i <= n; i++) if (with == "" || index(text[i], with)) print name[i] }
