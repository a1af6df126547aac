// Properties of this process: its rank and its host.
#include "lct/lct.h"

int LCT_rank = -1;
char LCT_hostname[HOST_NAME_MAX + 1] = "uninitialized";

void LCT_set_rank(int rank) { LCT_rank = rank; }

int LCT_get_rank() { return LCT_rank; }
