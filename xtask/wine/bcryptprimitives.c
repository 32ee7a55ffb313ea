/*
 * The one function of bcryptprimitives.dll that the standard library of Rust calls: Wine 8 has no such DLL, and without
 * it programs end with status 53 before `main`. The function fills a buffer with random bytes, as SystemFunction036
 * (RtlGenRandom) of advapi32 does. For tests under Wine alone.
 */
#include <windows.h>

BOOLEAN NTAPI SystemFunction036(PVOID buffer, ULONG bytes);

__declspec(dllexport) BOOL WINAPI ProcessPrng(PBYTE buffer, SIZE_T bytes)
{
    while (bytes > 0) {
        ULONG part = bytes > 0x7fffffff ? 0x7fffffff : (ULONG)bytes;
        if (!SystemFunction036(buffer, part)) {
            return FALSE;
        }
        buffer += part;
        bytes -= part;
    }
    return TRUE;
}
