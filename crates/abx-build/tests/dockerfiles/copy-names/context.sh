touch 'with space' "quote'" 'dollar$x' 'back\slash' ./-dash 'ünï' '.hidden' '#hash' 'a:b'
