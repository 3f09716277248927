#include "replay/replay.h"
void replay_init(void)
{
}
